/** A process that generates load: runs the loads that it receives, one after another. */
import { type LoadOptions, runLoad } from './load.js';
import { runStreamLoad, type StreamLoadOptions } from './stream-load.js';

export type LoadTask =
  | { kind: 'http'; options: LoadOptions }
  | { kind: 'stream'; options: StreamLoadOptions };

process.on('message', (task: LoadTask) => {
  const running = task.kind === 'http' ? runLoad(task.options) : runStreamLoad(task.options);
  running.then(
    (result) => process.send!({ result }),
    (error: Error) => process.send!({ error: error.message }),
  );
});
