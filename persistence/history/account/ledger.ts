/**
 * The statement of an account, newest first: the changes of its trades, its orders' holds, its
 * payments and its closed positions, by their numbers. From time to time the balance is stored; the
 * balances after later lines are added up from it.
 *
 * Invariant: between two stored balances, and up to the engine's own balance, the lines add up,
 * or the answer is a {@link HistoryDamage}. A line's position never changes.
 */
import type { CommittedLists } from '../opening.js';
import { HistoryDamage } from '../rows.js';
import {
  CLOSED_POSITION,
  type EntryOf,
  USER_BALANCE,
  USER_HOLD,
  USER_PAYMENT,
  USER_TRADE,
} from '../runs/format.js';
import { ENTRIES_MAX, type ListReader, type Page } from '../runs/reader.js';
import {
  type AccountChange,
  type Cause,
  CHANGES_MAX,
  changesOf,
  changesOfSide,
  heldChange,
} from './changes.js';
import { eventOf } from './payment.js';

export interface LedgerRequest {
  userId: number;
  limit: number;
  /** The position of the last line returned; null starts from the newest. */
  cursor: number | null;
  /** The times of the first and last wanted entries, both included; null if there is no bound. */
  fromMs: number | null;
  toMs: number | null;
  /** The market of the wanted entries; null for entries of all markets. */
  marketId: number | null;
  cause: Cause | null;
}

export interface LedgerLine extends AccountChange {
  sequence: number;
  atMs: number;
  /** The line's position. It never changes, and is higher than every older line's position. */
  position: number;
  /** The balance after the line. */
  balance: { availableMicros: number; heldMicros: number };
}

export type LedgerPage = Page<LedgerLine>;

/** The change that a list entry records. */
interface NumberedChanges {
  entry: { number: number; sequence: number; atMs: number };
  changes: AccountChange[];
}

type Balance = Omit<EntryOf<typeof USER_BALANCE>, 'ordinal' | 'userId' | 'sequence'>;
const NO_BALANCE: Balance = {
  trades: 0,
  holds: 0,
  payments: 0,
  positions: 0,
  availableMicros: 0,
  heldMicros: 0,
  atMs: 0,
};

/** The number of stored balances between which lines are read at a time. */
const STEP = 6;
/** The state of the account when the read is prepared. */
export interface LedgerEnd extends Balance {
  /** The number of stored balances. */
  balances: number;
}

export function ledgerEnd(
  lists: CommittedLists,
  userId: number,
  account: { availableMicros: number; heldMicros: number },
  atMs: number,
): LedgerEnd {
  const { userTrade, userHold, userPayment, closedPosition, userBalance } = lists.lengths;
  return {
    trades: userTrade.of(userId),
    holds: userHold.of(userId),
    payments: userPayment.of(userId),
    positions: closedPosition.of(userId),
    balances: userBalance.of(userId),
    availableMicros: account.availableMicros,
    heldMicros: account.heldMicros,
    atMs,
  };
}

export async function readLedger(
  lists: ListReader,
  end: LedgerEnd,
  request: LedgerRequest,
): Promise<LedgerPage> {
  return new LedgerRead(lists, end, request).page();
}

class LedgerRead {
  private readonly found: LedgerLine[] = [];
  private entriesRead = 0;

  constructor(
    private readonly lists: ListReader,
    private readonly end: LedgerEnd,
    private readonly request: LedgerRequest,
  ) {}

  async page(): Promise<LedgerPage> {
    const { limit, fromMs } = this.request;
    // The lines after the stored balance `next - 1`, up to the stored balance `next`, come first.
    let next = await this.firstStep();
    let isDone = false;
    while (!isDone && next >= 1 && this.found.length <= limit) {
      const from = Math.max(0, next - STEP);
      const balances = await this.balances(from, next);
      await this.addLines(balances);
      next = from;
      const oldest = balances[0]!;
      isDone = fromMs !== null && oldest.atMs < fromMs;
      if (!isDone && next >= 1 && this.entriesRead >= ENTRIES_MAX && this.found.length <= limit)
        return { entries: this.found, nextCursor: (entriesOf(oldest) + 1) * CHANGES_MAX };
    }
    const entries = this.found.slice(0, limit);
    return { entries, nextCursor: this.found.length > limit ? entries.at(-1)!.position : null };
  }

  /** The number of the stored balance just after the newest wanted line. */
  private async firstStep(): Promise<number> {
    const { cursor, toMs } = this.request;
    let step = this.end.balances + 1;
    if (cursor !== null) {
      const wanted = Math.floor((cursor - 1) / CHANGES_MAX);
      step = await this.search(step, (balance) => entriesOf(balance) >= wanted);
    }
    return toMs === null ? step : this.search(step, ({ atMs }) => atMs > toMs);
  }

  /** The first stored balance up to `last` that is late enough; `last` if none is. */
  private async search(last: number, isLate: (balance: Balance) => boolean): Promise<number> {
    let [from, to] = [1, last];
    while (from < to) {
      const middle = Math.floor((from + to) / 2);
      if (isLate(await this.lists.at(USER_BALANCE, this.request.userId, middle))) to = middle;
      else from = middle + 1;
    }
    return from;
  }

  /**
   * The stored balances numbered `first` to `last`. Number 0 is the zero balance; the number after
   * the last stored balance is the account's current balance.
   */
  private async balances(first: number, last: number): Promise<Balance[]> {
    const { end, lists } = this;
    const place = {
      id: this.request.userId,
      first: Math.max(1, first),
      last: Math.min(last, end.balances),
    };
    const stored: Balance[] = await lists.oldestFirst(USER_BALANCE, place);
    if (first === 0) stored.unshift(NO_BALANCE);
    if (last > end.balances) stored.push(end);
    return stored;
  }

  /** Adds the wanted lines between the first and the last balance, newest first. */
  private async addLines(balances: readonly Balance[]): Promise<void> {
    const { cursor } = this.request;
    const [from, to] = [balances[0]!, balances.at(-1)!];
    const entries = await this.entriesBetween(from, to);
    this.entriesRead += entries.length;
    const lines: LedgerLine[] = [];
    let { availableMicros, heldMicros } = from;
    let nextBalance = 1;
    for (const { entry, changes } of entries) {
      const { number, sequence, atMs } = entry;
      for (const [i, change] of changes.entries()) {
        availableMicros += change.availableMicros;
        heldMicros += change.heldMicros;
        const balance = { availableMicros, heldMicros };
        const line = { ...change, sequence, atMs, position: number * CHANGES_MAX + i, balance };
        if ((cursor === null || line.position < cursor) && this.isWanted(line)) lines.push(line);
      }
      if (number !== entriesOf(balances[nextBalance]!)) continue;
      this.check(balances[nextBalance++]!, availableMicros, heldMicros);
    }
    if (entries.length === 0) this.check(to, availableMicros, heldMicros);
    this.found.push(...lines.reverse());
  }

  private async entriesBetween(from: Balance, to: Balance): Promise<NumberedChanges[]> {
    const { lists } = this;
    const { userId: id } = this.request;
    const between = (list: 'trades' | 'holds' | 'payments' | 'positions') => {
      return { id, first: from[list] + 1, last: to[list] };
    };
    const trades = await lists.oldestFirst(USER_TRADE, between('trades'));
    const holds = await lists.oldestFirst(USER_HOLD, between('holds'));
    const payments = await lists.oldestFirst(USER_PAYMENT, between('payments'));
    const positions = await lists.oldestFirst(CLOSED_POSITION, between('positions'));
    return [
      ...trades.map((entry) => ({ entry, changes: changesOfSide(entry) })),
      ...holds.map((entry) => ({ entry, changes: [heldChange(entry, entry.heldMicros)] })),
      ...payments.map((entry) => ({ entry, changes: changesOf(eventOf(entry)) })),
      ...positions.map((entry) => ({
        entry,
        changes: changesOf({ ...entry, type: 'positionSettled' }),
      })),
    ].sort((a, b) => a.entry.number - b.entry.number);
  }

  private isWanted({ cause, marketId, atMs }: LedgerLine): boolean {
    const { request } = this;
    return (
      (request.cause === null || request.cause === cause) &&
      (request.marketId === null || request.marketId === marketId) &&
      (request.fromMs === null || atMs >= request.fromMs) &&
      (request.toMs === null || atMs <= request.toMs)
    );
  }

  private check(balance: Balance, availableMicros: number, heldMicros: number): void {
    if (balance.availableMicros === availableMicros && balance.heldMicros === heldMicros) return;
    throw new HistoryDamage(
      USER_BALANCE.name,
      `userId ${this.request.userId}, after ${entriesOf(balance)} entries`,
      `the entries add up to ${availableMicros} available and ${heldMicros} held, not to ` +
        `${balance.availableMicros} and ${balance.heldMicros}`,
    );
  }
}

function entriesOf({ trades, holds, payments, positions }: Balance): number {
  return trades + holds + payments + positions;
}
