/**
 * Commands as records (engine/interface/records.ts), ready to be applied. Records need no decoding
 * and no work of the garbage collector, so millions of commands can be prepared before a
 * measurement.
 */

import type { Engine } from '../../../engine/engine.js';
import { readCommand, timeOf } from '../../../engine/interface/command-record.js';
import type { Command } from '../../../engine/interface/commands.js';
import { RecordBuffer } from '../../../engine/interface/records.js';

export class CommandList {
  readonly records = new RecordBuffer();
  private readonly starts: Int32Array;

  constructor(capacity: number) {
    this.starts = new Int32Array(capacity);
  }

  get length(): number {
    return this.records.count;
  }

  append(command: Command, atMs: number): void {
    const { records, starts } = this;
    if (records.count === starts.length)
      throw new RangeError(`the list holds ${starts.length} commands`);
    starts[records.count] = records.length;
    records.append(command, atMs);
  }

  /** The offset of the i-th command's record. */
  at(i: number): number {
    if (!(i >= 0 && i < this.length)) throw new RangeError(`the list has no command ${i}`);
    return this.starts[i]!;
  }

  atMs(i: number): number {
    return timeOf(this.records, this.at(i));
  }

  clear(): void {
    this.records.clear();
  }

  applyTo(engine: Engine, from = 0, to = this.length): void {
    const { records } = this;
    const end = to === this.length ? records.length : this.at(to);
    for (let at = from === to ? end : this.at(from); at < end; )
      at = engine.applyRecord(records, at);
  }

  /** The i-th command as a separate object. */
  read(i: number): Command {
    return readCommand(this.records, this.at(i));
  }
}
