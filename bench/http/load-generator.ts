/**
 * A process that generates load, apart from the process that it measures: receives one load at a
 * time as a message, and answers with its result.
 */
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
