/**
 * Streams of new, cancel and modify messages for one book, in the shape of the public order book
 * benchmarks: the prices of an equity, 15% IOC, 20% modified, 95% cancelled, and repeated cancels.
 * Orders rest close to a middle, which is fixed (`static`) or walks (`normal`).
 *
 * Invariant: equal options give equal streams. A modification at the same price makes the order
 * larger, so the order loses its place.
 */
import { Random } from './random.js';

/** The chance that the middle moves by a tick before a new order. */
export const SHAPES = { static: 0, normal: 0.05 } as const;

export interface StreamOptions {
  seed: string;
  count: number;
  shape: keyof typeof SHAPES;
  /** How many messages an order rests for: the mean of an exponential distribution. */
  lifetime: number;
}

/** A message about the order `id`. `lots` of a modification: the new resting size. */
export type Message =
  | { kind: 'new'; id: number; isBid: boolean; ticks: number; lots: number; rests: boolean }
  | { kind: 'modify'; id: number; ticks: number; lots: number }
  | { kind: 'cancel'; id: number };
type New = Extract<Message, { kind: 'new' }>;

const IOC = 0.15;
const MODIFIED = 0.2;
const CANCELLED = 0.95;
const TWICE = 0.01;
/** One limit order in twenty crosses the middle, by at most this many ticks. */
const THROUGH = 0.05;
const THROUGH_TICKS = 5;
const AWAY_TICKS = 40;
const [LOWEST, HIGHEST] = [100, 900];

export function* messagesOf(options: StreamOptions): Generator<Message> {
  const { seed, count, shape, lifetime } = options;
  const random = new Random(seed);
  const below = (limit: number) => random.whole(0, limit - 1);
  const later = new Map<number, Message[]>();
  const due: Message[] = [];
  let middle = 500;
  let lastId = 0;

  const ticksOf = (isBid: boolean, rests: boolean) => {
    const isThrough = !rests || random.chance(THROUGH);
    const near = Math.min(below(AWAY_TICKS), below(AWAY_TICKS), below(AWAY_TICKS));
    const away = isThrough ? 0 - below(THROUGH_TICKS + 1) : 1 + near;
    return isBid ? middle - away : middle + away;
  };
  const newOrder = (): New => {
    if (random.chance(SHAPES[shape]))
      middle = Math.min(HIGHEST, Math.max(LOWEST, middle + (random.chance(0.5) ? 1 : -1)));
    const [isBid, rests] = [random.chance(0.5), !random.chance(IOC)];
    const ticks = ticksOf(isBid, rests);
    return { kind: 'new', id: ++lastId, isBid, ticks, lots: 10 * (1 + below(100)), rests };
  };
  const plan = (order: New, now: number) => {
    const { id, isBid, ticks, lots } = order;
    const add = (at: number, message: Message) =>
      later.set(at, [...(later.get(at) ?? []), message]);
    const end = now + 1 + Math.ceil(random.untilNext(1 / lifetime));
    if (random.chance(MODIFIED)) {
      const isSame = random.chance(0.5);
      const to = isSame ? ticks : ticksOf(isBid, true);
      const at = random.whole(now + 1, end);
      add(at, { kind: 'modify', id, ticks: to, lots: lots + 10 * (1 + below(50)) });
    }
    if (!random.chance(CANCELLED)) return;
    add(end, { kind: 'cancel', id });
    if (random.chance(TWICE)) add(end + below(100), { kind: 'cancel', id });
  };

  for (let now = 0; now < count; now++) {
    due.push(...(later.get(now) ?? []));
    later.delete(now);
    const message = due.shift() ?? newOrder();
    if (message.kind === 'new' && message.rests) plan(message, now);
    yield message;
  }
}
