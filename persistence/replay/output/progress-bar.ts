/** How far the replay is, as a bar on standard error; nothing when nobody is looking at it. */
import { SingleBar } from 'cli-progress';
import type { Progress } from '../input/replay-journal.js';

export function progressBar(stream: NodeJS.WriteStream, wanted: boolean): Progress {
  if (!wanted || !stream.isTTY) return { start: () => {}, reached: () => {}, stop: () => {} };
  const bar = new SingleBar({
    stream,
    format: 'replaying [{bar}] {percentage}% | {value} of {total} commands | {eta_formatted} left',
    clearOnComplete: true,
    // It would take the first Ctrl-C for itself.
    gracefulExit: false,
  });
  return {
    start: (total) => bar.start(total, 0),
    // A running exchange goes on while it is read.
    reached: (sequence) => {
      if (sequence > bar.getTotal()) bar.setTotal(sequence);
      bar.update(sequence);
    },
    stop: () => bar.stop(),
  };
}
