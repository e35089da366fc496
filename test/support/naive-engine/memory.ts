/**
 * The naive engine's remembered results: plain entries, oldest first, once per user and once for
 * all users. Expired entries are removed before anything else, so every entry counts. Below them
 * are the remembered client order ids, beside those that resting orders have.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Command, UserCommand } from '../../../engine/interface/commands.js';
import { IDEMPOTENCY_KEPT_MS } from '../../../engine/interface/limits.js';
import {
  CLIENT_ORDER_ID_BOUNDS,
  type ClientOrderIdBounds,
} from '../../../engine/state/book/client-order-ids.js';
import { IDEMPOTENCY_BOUNDS } from '../../../engine/state/idempotency.js';
import type { NaiveClientOrder, NaiveState } from './state.js';

/**
 * The longest result: a batch of 100 amendments with 5,000 fills that also cancels 1,100 orders,
 * all of its integers large.
 */
const MOST_BYTES = 36 + 8 * (4 + 1 + 100 * (1 + 4 + 2 + 15) + 5_000 * 3 + 1_100);

interface Remembered {
  command: Command;
  result: number[];
  atMs: number;
}

export type KeyedCommand = Extract<Command, UserCommand>;

/** The command's key; null when it has none. */
export function keyOf(command: Command): string | null {
  return 'idempotencyKey' in command ? command.idempotencyKey : null;
}

/** The key does not count. */
export function sameCommand(a: Command, b: Command): boolean {
  const comparable = (command: Command) => ({ ...command, idempotencyKey: null });
  return isDeepStrictEqual(comparable(a), comparable(b));
}

function bytesOf(result: number[]): number {
  return result.reduce((sum, value) => sum + (value < 2 ** 31 ? 4 : 8), 36);
}

interface Entry extends Remembered {
  userId: number;
  key: string;
  bytes: number;
}

/** Entries in order, and what they take together. */
class Entries {
  readonly byKey = new Map<string, Entry>();
  bytes = 0;

  add(name: string, entry: Entry): void {
    this.byKey.set(name, entry);
    this.bytes += entry.bytes;
  }

  remove(name: string): void {
    this.bytes -= this.byKey.get(name)!.bytes;
    this.byKey.delete(name);
  }

  /** 0: there is room for another; otherwise for how long the oldest is still kept. */
  fullForMs(mostKeys: number, mostBytes: number, nowMs: number): number {
    if (this.byKey.size < mostKeys && this.bytes + MOST_BYTES <= mostBytes) return 0;
    const [oldest] = this.byKey.values();
    return oldest!.atMs + IDEMPOTENCY_KEPT_MS - nowMs;
  }
}

export class NaiveMemory {
  private readonly all = new Entries();
  private readonly perUser = new Map<number, Entries>();

  constructor(private readonly bounds = IDEMPOTENCY_BOUNDS) {}

  find(userId: number, key: string, nowMs: number): Remembered | undefined {
    this.forgetExpired(nowMs);
    return this.perUser.get(userId)?.byKey.get(key);
  }

  /** 0: another key of the user can be remembered; otherwise for how long it cannot. */
  fullForMs(userId: number, nowMs: number): number {
    const { keysPerUser, keysInAll, bytesPerUser, bytesInAll } = this.bounds;
    this.forgetExpired(nowMs);
    const ofUser = this.perUser.get(userId)?.fullForMs(keysPerUser, bytesPerUser, nowMs) ?? 0;
    return ofUser === 0 ? this.all.fullForMs(keysInAll, bytesInAll, nowMs) : ofUser;
  }

  remember(userId: number, key: string, remembered: Remembered): void {
    const entry = { ...remembered, userId, key, bytes: bytesOf(remembered.result) };
    const own = this.perUser.get(userId) ?? new Entries();
    this.perUser.set(userId, own);
    own.add(key, entry);
    this.all.add(`${userId} ${key}`, entry);
  }

  private forgetExpired(nowMs: number): void {
    for (const [name, { userId, key, atMs }] of this.all.byKey) {
      if (nowMs - atMs < IDEMPOTENCY_KEPT_MS) return;
      this.all.remove(name);
      this.perUser.get(userId)!.remove(key);
    }
  }
}

/** The user's resting or remembered order with the id, 0: none. */
export function orderWithClientId(
  state: NaiveState,
  userId: number,
  clientOrderId: string,
): number {
  const resting = state.markets
    .flatMap((market) => market.orders)
    .find((order) => order.userId === userId && order.clientOrderId === clientOrderId);
  if (resting !== undefined) return resting.orderId;
  const remembered = state.clientOrders.find(
    (one) => one.userId === userId && one.clientOrderId === clientOrderId,
  );
  return remembered?.orderId ?? 0;
}

/** Forgets the user's oldest id if the user has as many as fit, else the oldest of all. */
export function rememberClientOrder(
  state: NaiveState,
  order: NaiveClientOrder,
  bounds: ClientOrderIdBounds = CLIENT_ORDER_ID_BOUNDS,
): void {
  const { clientOrders } = state;
  const own = clientOrders.filter((one) => one.userId === order.userId);
  if (own.length >= bounds.perUser) clientOrders.splice(clientOrders.indexOf(own[0]!), 1);
  else if (clientOrders.length >= bounds.inAll) clientOrders.shift();
  clientOrders.push(order);
}
