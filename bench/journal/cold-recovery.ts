/** Replays a folder's whole journal in uncompiled code, as at a start. Prints milliseconds. */
import '../../persistence/compiler-flags.js';
import { Engine } from '../../engine/engine.js';
import { JournalFollower } from '../../persistence/recovery/recovery.js';
import { readJournal } from '../measure/journal.js';

const [, , folder, digest] = process.argv;
if (folder === undefined || digest === undefined) throw new Error('give a folder and its digest');

await readJournal(folder, async (reader) => {
  const engine = new Engine();
  engine.reserve();
  const startedMs = performance.now();
  await new JournalFollower(engine).follow(reader);
  const durationMs = performance.now() - startedMs;
  if (engine.digest() !== digest) throw new Error('the recovered engine has another digest');
  process.stdout.write(`${durationMs}\n`);
});
