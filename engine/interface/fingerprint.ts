/**
 * A 64-bit hash of a command's record, to tell whether an idempotency key returns with the same
 * command. It covers every byte but the time and the key, so also how many words the key takes,
 * which is in the record's length. Mixing is by multiply and rotate on two lanes, as in
 * MurmurHash3.
 *
 * It does not cover `withClientOrderId` of amendments, which is the gateway's choice: an amendment
 * that an older program has executed without it has the same fingerprint as with it.
 */

import type { CommandRecord } from './command-record.js';
import { CommandKind } from './commands.js';
import { FLAGS_SHIFT, KIND_MASK, type RecordBuffer, SET, WORDS_SHIFT } from './records.js';

const { amend: AMEND, batch: BATCH } = CommandKind;
const UNCOVERED = SET << FLAGS_SHIFT;

export class Fingerprint {
  /** The two lanes, signed 32-bit integers. */
  a = 0;
  b = 0;

  take(record: CommandRecord): void {
    this.a = 0x243f6a88 | 0;
    this.b = 0x85a308d3 | 0;
    const { records, at, kind, fields, numbersEnd, afterKey, next } = record;
    this.add(records, at, at + 1, at);
    this.add(records, fields, numbersEnd, numbersEnd);
    this.add(records, afterKey, next, kind === BATCH ? afterKey : next);
    this.a = mix(this.a);
    this.b = mix(this.b ^ this.a);
  }

  /** @param head the first word that begins a command or an operation; `end`: none does. */
  private add({ ints }: RecordBuffer, from: number, end: number, head: number): void {
    let { a, b } = this;
    let nextHead = head;
    for (let at = from; at < end; at++) {
      let low = ints[2 * at]!;
      if (at === nextHead) {
        nextHead = at + (low >>> WORDS_SHIFT);
        if ((low & KIND_MASK) === AMEND) low &= ~UNCOVERED;
      }
      a = Math.imul(((a << 13) | (a >>> 19)) ^ low ^ b, 0xcc9e2d51);
      b = Math.imul(((b << 17) | (b >>> 15)) ^ ints[2 * at + 1]! ^ a, 0x1b873593);
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
