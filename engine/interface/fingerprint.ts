/**
 * A 32-bit hash of a command's record, which shows whether a repeated idempotency key has the same
 * command. It covers every byte except the time and the key, and through the record's length also
 * the number of words of the key. Mixing is by multiply and rotate on two lanes, as in MurmurHash3.
 */

import type { CommandRecord } from './command-record.js';
import type { RecordBuffer } from './records.js';

export class Fingerprint {
  /** The two lanes, signed 32-bit integers. */
  private a = 0;
  private b = 0;

  of(record: CommandRecord): number {
    this.a = 0x243f6a88 | 0;
    this.b = 0x85a308d3 | 0;
    const { records, at, fields, numbersEnd, afterKey, next } = record;
    this.add(records, at, at + 1);
    this.add(records, fields, numbersEnd);
    this.add(records, afterKey, next);
    return mix(this.b ^ mix(this.a));
  }

  private add({ ints }: RecordBuffer, from: number, end: number): void {
    let { a, b } = this;
    for (let at = from; at < end; at++) {
      a = Math.imul(((a << 13) | (a >>> 19)) ^ ints[2 * at]! ^ b, 0xcc9e2d51);
      b = Math.imul(((b << 17) | (b >>> 15)) ^ ints[2 * at + 1]! ^ a, 0x1b873593);
    }
    this.a = a;
    this.b = b;
  }
}

/** The finalizer of MurmurHash3: each input bit changes about half of the output bits. */
function mix(lane: number): number {
  let mixed = lane;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}
