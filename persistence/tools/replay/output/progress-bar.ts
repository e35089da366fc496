/** Replay progress as a bar on standard error, if that is a terminal. */
import { SingleBar } from 'cli-progress';
import type { Progress } from '../input/replay-journal.js';

export function progressBar(stream: NodeJS.WriteStream, wanted: boolean): Progress {
  if (!wanted || !stream.isTTY) return { start: () => {}, reached: () => {}, stop: () => {} };
  const bar = new SingleBar({
    stream,
    format: 'replaying [{bar}] {percentage}% | {value} of {total} commands | {eta_formatted} left',
    clearOnComplete: true,
    // The bar would intercept the first Ctrl-C.
    gracefulExit: false,
  });
  return {
    start: (total) => bar.start(total, 0),
    // A running exchange may append to its journal during the replay.
    reached: (sequence) => {
      if (sequence > bar.getTotal()) bar.setTotal(sequence);
      bar.update(sequence);
    },
    stop: () => bar.stop(),
  };
}
