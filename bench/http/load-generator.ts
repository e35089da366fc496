/**
 * A process that makes load: takes one load at a time as a message, answers with its result, and ends when its parent does. In a process of
 * its own, so that what it costs is not on the server's account.
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
