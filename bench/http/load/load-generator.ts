/** A load-generating process: runs one load after another. */
import { type LoadOptions, runLoad } from './load.js';
import { runStreamLoad, type StreamLoadOptions } from './stream-load.js';

export type LoadTask =
  | { kind: 'http'; options: LoadOptions }
  | { kind: 'stream'; options: StreamLoadOptions };

process.on('message', (task: LoadTask) => {
  run(task).then(
    (result) => process.send!({ result }),
    (error: Error) => process.send!({ error: error.message }),
  );
});

function run(task: LoadTask): Promise<object> {
  switch (task.kind) {
    case 'http':
      return runLoad(task.options);
    case 'stream':
      return runStreamLoad(task.options);
  }
}
