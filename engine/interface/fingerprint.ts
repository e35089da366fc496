/**
 * A 64-bit hash of a command's record, to tell whether an idempotency key returns with the same
 * command. It covers every byte but the time and the key, so also how many words the key takes,
 * which is in the record's length. Mixing is by multiply and rotate on two lanes, as in
 * MurmurHash3.
 *
 * It does not cover `withClientOrderId` of amendments, which is the gateway's choice: an amendment
 * that an older program has executed without it has the same fingerprint as with it.
 */

import { type CommandRecord, kindAt } from './command-record.js';
import { CommandKind } from './commands.js';
import { FLAGS_SHIFT, type RecordBuffer, SET, wordsOf } from './records.js';

const { amend: AMEND, batch: BATCH } = CommandKind;

export class Fingerprint {
  /** The two lanes, signed 32-bit integers. */
  a = 0;
  b = 0;

  take(record: CommandRecord): void {
    this.a = 0x243f6a88 | 0;
    this.b = 0x85a308d3 | 0;
    const { records, at, fields, numbersEnd, afterKey, next } = record;
    this.addHead(records, at);
    this.add(records, fields, numbersEnd);
    if (record.kind === BATCH) this.addOperations(records, afterKey, next);
    else this.add(records, afterKey, next);
    this.a = mix(this.a);
    this.b = mix(this.b ^ this.a);
  }

  private addOperations(records: RecordBuffer, from: number, end: number): void {
    let next = from;
    for (let at = from; at < end; at = next) {
      next = at + wordsOf(records, at);
      this.addHead(records, at);
      this.add(records, at + 1, next);
    }
  }

  private addHead(records: RecordBuffer, at: number): void {
    this.add(records, at, at + 1, kindAt(records, at) === AMEND ? SET << FLAGS_SHIFT : 0);
  }

  /** @param ignored bits of the first half of each word that count as 0. */
  private add({ ints }: RecordBuffer, from: number, end: number, ignored = 0): void {
    let { a, b } = this;
    for (let i = 2 * from; i < 2 * end; i += 2) {
      a = Math.imul(((a << 13) | (a >>> 19)) ^ (ints[i]! & ~ignored) ^ b, 0xcc9e2d51);
      b = Math.imul(((b << 17) | (b >>> 15)) ^ ints[i + 1]! ^ a, 0x1b873593);
    }
    this.a = a;
    this.b = b;
  }
}

/** The finalizer of MurmurHash3: every bit of the lane changes half of the others. */
function mix(lane: number): number {
  let mixed = lane;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}
