/**
 * The clients' own record of every change that they requested: how often it was answered, with
 * what, and how often the connection ended before the answer. The check at the end compares it with
 * the journal.
 *
 * A change is an attempt with a number, which identifies it in the journal: the number is in its
 * idempotency key or is its Client-Sequence; an order with neither has it in a far `validUntilMs`;
 * a cancel with neither is identified by its order.
 *
 * There are millions of attempts, so they are columns of numbers, eight bytes each.
 */
import { numberOfKey } from '../../../engine/interface/client-sequence.js';
import type { Command } from '../../../engine/interface/commands.js';
import { MAX_TIME_MS } from '../../../engine/interface/limits.js';

const KEY = /^soak:(\d+)$/;

export const keyOf = (attempt: number): string => `soak:${attempt}`;
export const validUntilOf = (attempt: number): number => MAX_TIME_MS - attempt;

export class AttemptRecord {
  /** Attempts are numbered from 1. */
  count = 0;
  private answerCounts = new Uint8Array(1 << 16);
  private replayCounts = new Uint8Array(1 << 16);
  private lostCounts = new Uint8Array(1 << 16);
  private staleCounts = new Uint8Array(1 << 16);
  private answerHashes = new Uint32Array(1 << 16);
  /** The attempts to cancel without a key, by order. */
  private readonly bareCancels = new Map<number, number>();

  begin(): number {
    this.count++;
    if (this.count === this.answerCounts.length) this.grow();
    return this.count;
  }

  cancelsWithoutKey(attempt: number, orderId: number): void {
    this.bareCancels.set(orderId, attempt);
  }

  /** The connection ended before the answer: the change may or may not have been executed. */
  lost(attempt: number): void {
    // Retries against an exchange that is down are lost hundreds of times; 255 stands for more.
    if (this.lostCounts[attempt]! < 255) this.lostCounts[attempt]!++;
  }

  /** Returns false if an earlier answer to the attempt was different. */
  answered(attempt: number, hash: number, isReplay: boolean): boolean {
    if (isReplay) this.replayCounts[attempt]!++;
    const isFirst = this.answerCounts[attempt]!++ === 0;
    if (isFirst) this.answerHashes[attempt] = hash;
    return this.answerHashes[attempt] === hash;
  }

  /** Its number was refused: a greater one had been executed, or this one. */
  stale(attempt: number): void {
    this.staleCounts[attempt]!++;
  }

  stales(attempt: number): number {
    return this.staleCounts[attempt]!;
  }

  answers(attempt: number): number {
    return this.answerCounts[attempt]!;
  }

  replays(attempt: number): number {
    return this.replayCounts[attempt]!;
  }

  losses(attempt: number): number {
    return this.lostCounts[attempt]!;
  }

  answerHash(attempt: number): number {
    return this.answerHashes[attempt]!;
  }

  get acknowledged(): number {
    return this.answerCounts.reduce((sum, answers) => sum + (answers > 0 ? 1 : 0), 0);
  }

  /** The attempt of a journalled command; 0: no client of this run sent it. */
  attemptOf(command: Command): number {
    if (!('idempotencyKey' in command)) return 0;
    const { idempotencyKey: key } = command;
    if (key !== null) return numberOfKey(key)?.clientSequence ?? Number(KEY.exec(key)?.[1] ?? 0);
    switch (command.kind) {
      case 'buy':
      case 'sell':
        return MAX_TIME_MS - command.validUntilMs;
      case 'batch': {
        const [first] = command.operations;
        return first === undefined ? 0 : this.attemptOf(first);
      }
      case 'cancel':
        return this.bareCancels.get(command.orderId) ?? 0;
      default:
        return 0;
    }
  }

  private grow(): void {
    const grown = <Column extends Uint8Array | Uint32Array>(old: Column, larger: Column) => {
      larger.set(old);
      return larger;
    };
    const capacity = 2 * this.answerCounts.length;
    this.answerCounts = grown(this.answerCounts, new Uint8Array(capacity));
    this.replayCounts = grown(this.replayCounts, new Uint8Array(capacity));
    this.lostCounts = grown(this.lostCounts, new Uint8Array(capacity));
    this.staleCounts = grown(this.staleCounts, new Uint8Array(capacity));
    this.answerHashes = grown(this.answerHashes, new Uint32Array(capacity));
  }
}

/** A hash of status and body (FNV-1a, 32 bit). */
export function answerHash(status: number, body: Uint8Array): number {
  let hash = 0x811c9dc5 ^ status;
  for (let i = 0; i < body.length; i++) hash = Math.imul(hash ^ body[i]!, 0x01000193);
  return hash >>> 0;
}

export interface ShownTrade {
  tradeId: string;
  orderId: string;
  shares: number;
  price: number;
}

/** The number of an id, such as 7 of `u7`. */
export const numberOf = (id: string): number => Number(id.slice(1));

/** The trades of a user as a sum, which does not depend on their order and can be compared. */
export class TradeSum {
  count = 0;
  /** The sum of the trades' hashes, modulo 2^32. */
  private hashes = 0;
  private lots = 0;

  add(tradeId: number, orderId: number, sizeLots: number, priceTicks: number): void {
    this.count++;
    this.lots += sizeLots;
    let hash = 0x811c9dc5;
    for (const value of [tradeId, orderId, sizeLots, priceTicks]) {
      hash = Math.imul(hash ^ (value >>> 0), 0x01000193);
      hash = Math.imul(hash ^ Math.floor(value / 2 ** 32), 0x01000193) ^ (hash >>> 15);
    }
    this.hashes = (this.hashes + hash) >>> 0;
  }

  /** Adds a trade as the API shows it: ids with their letter, shares and dollars. */
  addShown({ tradeId, orderId, shares, price }: ShownTrade): void {
    const [lots, ticks] = [Math.round(shares * 1_000), Math.round(price * 1_000)];
    this.add(numberOf(tradeId), numberOf(orderId), lots, ticks);
  }

  plus(other: TradeSum): TradeSum {
    const sum = new TradeSum();
    sum.count = this.count + other.count;
    sum.lots = this.lots + other.lots;
    sum.hashes = (this.hashes + other.hashes) >>> 0;
    return sum;
  }

  equals(other: TradeSum): boolean {
    return this.count === other.count && this.hashes === other.hashes && this.lots === other.lots;
  }

  toString(): string {
    return `${this.count} trades of ${this.lots} lots (${this.hashes.toString(16)})`;
  }
}
