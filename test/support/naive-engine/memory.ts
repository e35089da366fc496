/**
 * The naive engine's remembered results, oldest first; an entry counts until it is forgotten. Also
 * the remembered client order ids of orders that no longer rest.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Command, UserCommand } from '../../../engine/interface/commands.js';
import { FORGOTTEN_PER_COMMAND, IDEMPOTENCY_KEPT_MS } from '../../../engine/interface/limits.js';
import { mayTakeOne, Tally } from './access/room.js';
import type { NaiveClientOrder, NaiveState } from './state.js';

interface Remembered {
  command: Command;
  result: number[];
  atMs: number;
}

export type KeyedCommand = Extract<Command, UserCommand>;

/** The command's key, or null if it has none. */
export function keyOf(command: Command): string | null {
  return 'idempotencyKey' in command ? command.idempotencyKey : null;
}

/** Compares commands without their keys. */
export function sameCommand(a: Command, b: Command): boolean {
  const comparable = (command: Command) => ({ ...command, idempotencyKey: null });
  return isDeepStrictEqual(comparable(a), comparable(b));
}

interface Entry extends Remembered {
  userId: number;
  key: string;
}

export class NaiveMemory {
  private readonly entries = new Set<Entry>();
  /** The last entry of each user and key. */
  private readonly byKey = new Map<string, Entry>();
  private readonly keys = new Map<number, number>();

  find(userId: number, key: string, nowMs: number): Remembered | undefined {
    const entry = this.byKey.get(`${userId} ${key}`);
    return entry === undefined || isOver(entry, nowMs) ? undefined : entry;
  }

  /** How long the user must wait until another key can be remembered; 0 if there is room. */
  fullForMs(state: NaiveState, userId: number, isCancel: boolean): number {
    const keys = new Tally(state, userId, 'keys');
    for (const [owner, count] of this.keys) keys.add(owner, count);
    if (keys.mayTake(isCancel)) return 0;
    const [oldest] = this.entries;
    return Math.max(1, oldest!.atMs + IDEMPOTENCY_KEPT_MS - state.nowMs);
  }

  remember(userId: number, key: string, remembered: Remembered): void {
    const entry = { ...remembered, userId, key };
    this.entries.add(entry);
    this.byKey.set(`${userId} ${key}`, entry);
    this.count(entry, 1);
  }

  forgetExpired(nowMs: number): void {
    let forgotten = 0;
    for (const entry of this.entries) {
      if (!isOver(entry, nowMs) || forgotten === FORGOTTEN_PER_COMMAND) return;
      forgotten++;
      this.entries.delete(entry);
      const name = `${entry.userId} ${entry.key}`;
      if (this.byKey.get(name) === entry) this.byKey.delete(name);
      this.count(entry, -1);
    }
  }

  private count({ userId }: Entry, change: number): void {
    this.keys.set(userId, (this.keys.get(userId) ?? 0) + change);
  }
}

function isOver({ atMs }: Entry, nowMs: number): boolean {
  return nowMs - atMs >= IDEMPOTENCY_KEPT_MS;
}

/** The user's resting or remembered order with this id; 0 if there is none. */
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

/**
 * Remembers a client order id. Without room, first forgets the user's oldest id, or else the oldest
 * of all.
 */
export function rememberClientOrder(state: NaiveState, order: NaiveClientOrder): void {
  const { clientOrders } = state;
  if (!mayTakeOne(state, 'clientOrderIds', order.userId)) {
    const own = clientOrders.findIndex((one) => one.userId === order.userId);
    clientOrders.splice(Math.max(0, own), 1);
  }
  clientOrders.push(order);
}
