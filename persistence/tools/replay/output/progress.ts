/** Replay progress as a line on standard error, if that is a terminal. */
import type { Progress } from '../input/replay-journal.js';

/** To the start of the line, and clears it (ECMA-48). */
const CLEAR = '\r\x1b[K';

export function progressOn(stream: NodeJS.WriteStream, isWanted: boolean): Progress {
  if (!isWanted || !stream.isTTY) return { reached: () => {}, stop: () => {} };
  let said = -1;
  return {
    reached: (sequence, end) => {
      const percent = Math.floor((sequence / Math.max(sequence, end)) * 100);
      if (percent === said) return;
      said = percent;
      stream.write(`${CLEAR}replayed ${sequence} of ${end} commands (${percent}%)`);
    },
    stop: () => void stream.write(CLEAR),
  };
}
