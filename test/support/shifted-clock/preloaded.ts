/**
 * Shifts one process's clock: preload this file with `node --import`. The shift in milliseconds is
 * in the file that CLOCK_SHIFT_FILE names, which is read ten times a second, so that a test can
 * make the clock jump. Only the time of day is shifted, as when a machine's clock is set.
 */
import { readFileSync } from 'node:fs';

const READ_EVERY_MS = 100;
const RealDate = Date;
let shiftMs = 0;

function read(): void {
  try {
    shiftMs = Number(readFileSync(process.env['CLOCK_SHIFT_FILE']!, 'utf8'));
  } catch {
    shiftMs = 0;
  }
}

class ShiftedDate extends RealDate {
  constructor(...values: []) {
    if (values.length === 0) super(ShiftedDate.now());
    else super(...values);
  }

  static override now(): number {
    return RealDate.now() + shiftMs;
  }
}

read();
setInterval(read, READ_EVERY_MS).unref();
globalThis.Date = ShiftedDate as DateConstructor;
