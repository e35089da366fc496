/**
 * The fees paid for the shares that the user holds. The exchange stores none per position, so they
 * are added up from the user's trades in the market. As with cost, a sale removes its proportion.
 */
import { computed, effect, signal } from '@preact/signals';
import {
  type CallOptions,
  type Paging,
  type Position,
  toLots,
  toMicros,
  type UserTrade,
  userTrades,
} from '../../../client/index.js';
import { positions, trueAt } from '../model/account.js';
import { api } from '../model/exchange.js';
import { user } from '../model/session.js';
import { everyEntry } from './flows.js';

type Trade = Pick<UserTrade, 'outcome' | 'side' | 'shares' | 'fee'>;

interface Fees {
  /** Identifies the positions that the fees belong to. */
  about: string;
  /** `null` if there are too many trades to add up on the page. */
  sums: { UP: number; DOWN: number } | null;
  trades: readonly UserTrade[];
}

/** Wait after a failure, or while the history lags. */
const AGAIN_MS = 500;
const TICKS_PER_DOLLAR = 1_000;

const known = signal<ReadonlyMap<string, Fees>>(new Map());
const reading = new Set<string>();
const tries = signal(0);

/** The user's trades in markets where they hold shares. */
export const ownTrades = computed(() =>
  [...known.value].flatMap(([id, { about, trades }]) => (about === aboutOf(id) ? trades : [])),
);

/** `trades`: oldest first. Merges are not trades, so fees fall with the shares held. */
export function feesOf(
  trades: readonly Trade[],
  ownLots: { UP: number; DOWN: number },
): { UP: number; DOWN: number } {
  const lots = { UP: 0n, DOWN: 0n };
  const fees = { UP: 0n, DOWN: 0n };
  for (const { outcome, side, shares, fee } of trades) {
    const traded = BigInt(toLots(shares));
    if (side === 'BUY') {
      lots[outcome] += traded;
      fees[outcome] += BigInt(toMicros(fee));
    } else if (lots[outcome] > 0n) {
      fees[outcome] -= (fees[outcome] * traded) / lots[outcome];
      lots[outcome] -= traded;
    }
  }
  for (const outcome of ['UP', 'DOWN'] as const) {
    const merged = lots[outcome] - BigInt(ownLots[outcome]);
    if (merged > 0n) fees[outcome] -= (fees[outcome] * merged) / lots[outcome];
  }
  return { UP: Number(fees.UP), DOWN: Number(fees.DOWN) };
}

/** The shares' cost including fees; `null` if unknown. */
export function paidMicros(of: Position): number | null {
  const fees = known.value.get(of.marketId);
  if (fees?.about !== aboutOf(of.marketId) || fees.sums === null) return null;
  return toMicros(of.cost) + (of.outcome === null ? 0 : fees.sums[of.outcome]);
}

/** The chance of UP at which the user's shares in a market are worth what they cost, in ticks. */
export function breakEvenTicks(marketId: string): number | null {
  let [costMicros, upLots, downLots] = [0, 0, 0];
  for (const each of positions.value) {
    if (each.marketId !== marketId || each.outcome === null) continue;
    const paid = paidMicros(each);
    if (paid === null) return null;
    costMicros += paid;
    if (each.outcome === 'UP') upLots = toLots(each.shares);
    else downLots = toLots(each.shares);
  }
  const ticks = (costMicros - downLots * TICKS_PER_DOLLAR) / (upLots - downLots);
  return ticks >= 0 && ticks <= TICKS_PER_DOLLAR ? ticks : null;
}

function aboutOf(marketId: string): string {
  return positions.value
    .filter((each) => each.marketId === marketId)
    .map(({ outcome, shares, cost }) => `${user.value?.userId} ${outcome} ${shares} ${cost}`)
    .join();
}

effect(() => {
  void tries.value;
  for (const marketId of new Set(positions.value.map((each) => each.marketId)))
    if (known.value.get(marketId)?.about !== aboutOf(marketId)) void read(marketId);
});

async function read(marketId: string): Promise<void> {
  if (reading.has(marketId)) return;
  reading.add(marketId);
  const [about, sequence] = [aboutOf(marketId), trueAt.peek()];
  const ownLots = { UP: 0, DOWN: 0 };
  for (const each of positions.peek())
    if (each.marketId === marketId && each.outcome !== null)
      ownLots[each.outcome] = toLots(each.shares);
  const readPage = (paging: Paging, options: CallOptions) =>
    userTrades(api, user.peek()?.userId ?? '', { ...paging, marketId }, options);
  try {
    const trades = await everyEntry(readPage, 'trades', sequence);
    const found =
      trades === 'many'
        ? { trades: [], sums: null }
        : { trades, sums: feesOf(trades.reverse(), ownLots) };
    known.value = new Map(known.peek()).set(marketId, { about, ...found });
  } catch {
    // Tried again below.
  }
  reading.delete(marketId);
  if (known.peek().get(marketId)?.about !== about) setTimeout(() => tries.value++, AGAIN_MS);
}
