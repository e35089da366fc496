/**
 * Makes a folder of the present version from one of the version before it: a copy of its journal,
 * with a command after it that records the upgrade and names the end of the old journal.
 *
 * Always holds: the old folder is only read, and nobody can trade on it meanwhile. Its whole
 * journal is judged and replayed, batch by batch to the digest that each has, before anything is
 * written. So the way back is to start the older program on the old folder.
 *
 * No version was released before 1, so version 0 stands for the way: it differs from version 1 in
 * its number alone. When there is a version 2, what differs in version 1 is translated here.
 */
import { Engine } from '../../../engine/engine.js';
import { Code } from '../../../engine/interface/codes.js';
import { RecordBuffer } from '../../../engine/interface/records.js';
import { ResultHead } from '../../../engine/interface/results.js';
import { hasLock, lockFolder } from '../../journal/folder-lock.js';
import { bytesOf, FORMAT_VERSION, type JournalPosition } from '../../journal/format.js';
import type { Journal } from '../../journal/journal.js';
import { readJournal } from '../../journal/read-only.js';
import type { JournalReader } from '../../journal/reader.js';
import { judgeFolder } from '../../recovery/judgement.js';
import { JournalFollower } from '../../recovery/recovery.js';
import { checkFolder } from '../replay/input/replay-journal.js';
import { append, copyJournal, neverWithinABatch } from './copy-journal.js';
import {
  closeCopy,
  copySecret,
  finishCopy,
  mustBeApart,
  mustBeNew,
  openCopy,
  orNothing,
} from './folders.js';

const FROM_VERSION = FORMAT_VERSION - 1;

/**
 * Returns the end of the old journal, up to which the new one is the same.
 * @throws OperationRefused, or JournalError if the old folder is of another version, damaged,
 *   incomplete or in use.
 */
export async function upgrade(from: string, to: string): Promise<JournalPosition> {
  await checkFolder(from);
  mustBeNew(to);
  mustBeApart(from, to);
  const lock = hasLock(from) ? await lockFolder(from) : null;
  try {
    return await orNothing(to, () => upgradeInto(from, to));
  } finally {
    await lock?.release();
  }
}

async function upgradeInto(from: string, to: string): Promise<JournalPosition> {
  const version = FROM_VERSION;
  const judged = await judgeFolder(from, { acceptMissingMark: false, checkAll: true, version });
  const engine = new Engine();
  const copy = async (source: JournalReader) => {
    await new JournalFollower(engine).follow(source);
    const target = await openCopy(to);
    try {
      await copyJournal({ source, target, engineAt: neverWithinABatch });
      await record(engine, target);
    } finally {
      await closeCopy(to, target);
    }
  };
  await readJournal(from, copy, version);
  await copySecret(from, to);
  await finishCopy(to);
  return judged.end;
}

/** In a batch of its own, at the time of the last command: the upgrade has no clock. */
async function record(engine: Engine, journal: Journal): Promise<void> {
  const chainHash = journal.end.hash.toString('hex');
  const versions = { fromVersion: FROM_VERSION, toVersion: FORMAT_VERSION };
  const records = new RecordBuffer();
  const at = records.append({ kind: 'recordUpgrade', ...versions, chainHash }, engine.nowMs);
  engine.applyRecord(records, at);
  if (engine.result.values[ResultHead.code] !== Code.ok)
    throw new Error('the engine refuses to record the upgrade');
  const { sequence } = engine;
  const batch = { firstSequence: sequence, lastSequence: sequence };
  await append(journal, { ...batch, records: bytesOf(records), digest: engine.digest() });
}
