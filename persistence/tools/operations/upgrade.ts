/**
 * Makes the data of an exchange ready for this program, even while an older program trades on it:
 * the journal is replayed and then followed until the older program stops.
 *
 * With a new folder, for a journal of the version before this one: a copy of the journal, with a
 * command after it that records the upgrade and names the end of the old journal. Without one, for
 * a journal that both versions read: nothing is copied. Both get a snapshot of this version at the
 * end, for which the journal vouches, so that the new program starts in seconds.
 *
 * Invariant: while another program has the folder, it is only read. Every batch is proven and
 * leads to the digest that it has. The way back is to start the older program on the old folder,
 * which has at most one command more.
 *
 * No version was released before 1, so version 0 stands in for an older one: it differs from
 * version 1 in its number alone. Once there is a version 2, what differs in version 1 is translated
 * here.
 */
import { existsSync, renameSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Engine } from '../../../engine/engine.js';
import { Code } from '../../../engine/interface/codes.js';
import type { Command } from '../../../engine/interface/commands.js';
import { RecordBuffer } from '../../../engine/interface/records.js';
import { ResultHead } from '../../../engine/interface/results.js';
import { FolderInUse, type FolderLock, hasLock, lockFolder } from '../../journal/folder-lock.js';
import { bytesOf, FORMAT_VERSION, GENESIS, type JournalPosition } from '../../journal/format.js';
import type { Journal } from '../../journal/journal.js';
import { readJournal } from '../../journal/read-only.js';
import { type JournalReader, openJournalReader } from '../../journal/reader.js';
import { DataFolder } from '../../recovery/data-folder.js';
import { judgeFolder } from '../../recovery/judgement.js';
import { JournalFollower } from '../../recovery/recovery.js';
import { writeSnapshot } from '../../recovery/snapshot/file.js';
import { prepareSnapshotFolder, snapshotNameOf } from '../../recovery/snapshot/folder.js';
import { loadNewestSnapshot, type StartingPoint } from '../../recovery/snapshot/load.js';
import { syncPath } from '../../storage/files.js';
import { checkFolder } from '../replay/input/replay-journal.js';
import { append, appendCopy } from './copy-journal.js';
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
const SAY_EVERY_S = 5;
const LOOK_EVERY_MS = 100;

interface UpgradeOptions {
  from: string;
  /** A new folder; null to use `from`, whose journal has this version. */
  to: string | null;
  say: (text: string) => void;
}

/**
 * Runs the upgrade and returns the end of the old journal. @throws OperationRefused, JournalError
 */
export async function upgrade(options: UpgradeOptions): Promise<JournalPosition> {
  const { from, to } = options;
  await checkFolder(from);
  if (to === null) return upgradeInPlace(options);
  mustBeNew(to);
  mustBeApart(from, to);
  return orNothing(to, async () => {
    const end = await upgradeInto(options, to);
    await copySecret(from, to);
    await finishCopy(to);
    return end;
  });
}

async function upgradeInPlace(options: UpgradeOptions): Promise<JournalPosition> {
  const { from } = options;
  const lock = () => DataFolder.lock({ folder: from });
  let data = await lock().catch(unlessInUse);
  const begin = async (reader: JournalReader) => {
    const start = await loadNewestSnapshot({ folder: from, reader, log: { warn: () => {} } });
    const replay = new Replay(options, FORMAT_VERSION, start);
    await replay.follow(reader);
    return replay;
  };
  const replay = await (data === undefined ? readLive : readJournal)(from, begin);
  data ??= await replay.untilStopped(lock);
  try {
    await readJournal(from, (reader) => replay.follow(reader));
    const journal = await data.openJournal();
    const { end } = journal;
    await addSnapshot(replay.engine, from, journal).finally(() => journal.close());
    return end;
  } finally {
    await data.release();
  }
}

async function upgradeInto(options: UpgradeOptions, to: string): Promise<JournalPosition> {
  const { from } = options;
  const version = FROM_VERSION;
  const takeLock = () => (hasLock(from) ? lockFolder(from) : Promise.resolve(null));
  const judge = (checkAll: boolean) =>
    judgeFolder(from, { acceptMissingMark: false, checkAll, version });
  let lock: FolderLock | null | undefined = await takeLock().catch(unlessInUse);
  try {
    if (lock !== undefined) await judge(true);
    const target = await openCopy(to);
    try {
      const replay = new Replay(
        options,
        version,
        { engine: new Engine(), position: GENESIS },
        target,
      );
      if (lock === undefined) {
        await readLive(from, (reader) => replay.follow(reader), version);
        lock = await replay.untilStopped(takeLock);
        // The replay has proven everything before the newest snapshot.
        await judge(false);
      }
      await readJournal(from, (reader) => replay.follow(reader), version);
      const { end } = target;
      const versions = { fromVersion: version, toVersion: FORMAT_VERSION };
      const chainHash = end.hash.toString('hex');
      await add(replay.engine, target, { kind: 'recordUpgrade', ...versions, chainHash });
      await addSnapshot(replay.engine, to, target);
      return end;
    } finally {
      await closeCopy(to, target);
    }
  } finally {
    await lock?.release();
  }
}

function unlessInUse(error: unknown): undefined {
  if (!(error instanceof FolderInUse)) throw error;
}

async function readLive<Result>(
  folder: string,
  work: (reader: JournalReader) => Promise<Result>,
  version = FORMAT_VERSION,
): Promise<Result> {
  const reader = await openJournalReader(folder, version);
  return work(reader).finally(() => reader.close());
}

/** An engine that follows the old journal, and copies it to the new one, if there is one. */
class Replay {
  readonly engine: Engine;
  private readonly follower: JournalFollower;
  /** The end of the journal at the last check. */
  private total = 0;
  private saidSequence: number;

  constructor(
    private readonly options: UpgradeOptions,
    private readonly version: number,
    { engine, position }: StartingPoint,
    target: Journal | null = null,
  ) {
    this.engine = engine;
    this.saidSequence = engine.sequence;
    this.follower = new JournalFollower(engine, position, {
      proven: async (batch) => {
        if (target !== null) await appendCopy(target, batch);
        return true;
      },
    });
  }

  async follow(reader: JournalReader): Promise<void> {
    this.total = (await reader.end()).sequence;
    const timer = setInterval(() => this.sayHowFar(), SAY_EVERY_S * 1_000);
    await this.follower.follow(reader).finally(() => clearInterval(timer));
  }

  /** Follows until the old folder is free. Returns the result of `take`, which then holds it. */
  async untilStopped<Taken>(take: () => Promise<Taken>): Promise<Taken> {
    const { from, say } = this.options;
    say(`At sequence ${this.engine.sequence}, the end of the journal. Stop the exchange now.`);
    for (;;) {
      await readLive(from, (reader) => this.whileInUse(reader), this.version);
      const taken = await take().catch(unlessInUse);
      if (taken !== undefined) return taken;
    }
  }

  private async whileInUse(reader: JournalReader): Promise<void> {
    for (;;) {
      await this.follow(reader);
      const lock = await lockFolder(this.options.from).catch(unlessInUse);
      if (lock !== undefined) return lock.release();
      await delay(LOOK_EVERY_MS);
    }
  }

  private sayHowFar(): void {
    const { sequence } = this.engine;
    const perSecond = (sequence - this.saidSequence) / SAY_EVERY_S;
    this.saidSequence = sequence;
    const total = Math.max(this.total, sequence);
    const left = perSecond === 0 ? '' : `, ${Math.ceil((total - sequence) / perSecond)} s left`;
    this.options.say(
      `sequence ${sequence} of ${total} (${Math.floor((sequence / total) * 100)}%), ` +
        `${Math.round(perSecond)} commands a second${left}`,
    );
  }
}

/** Writes a snapshot at the journal's end, and journals its hash. */
async function addSnapshot(engine: Engine, folder: string, journal: Journal): Promise<void> {
  const { sequence: snapshotSequence } = engine;
  const { path } = snapshotNameOf(folder, snapshotSequence);
  if (!existsSync(dirname(path))) await prepareSnapshotFolder(folder);
  // An older program that is stopping removes unfinished files under its own names.
  const own = `${path}.upgrade`;
  const snapshotHash = await writeSnapshot(own, engine, journal.end);
  renameSync(own, path);
  await syncPath(dirname(path));
  await add(engine, journal, { kind: 'vouchForSnapshot', snapshotSequence, snapshotHash });
}

/**
 * Appends a command as its own batch, at the time of the last command, because the upgrade has no
 * clock.
 */
async function add(engine: Engine, journal: Journal, command: Command): Promise<void> {
  const records = new RecordBuffer();
  const at = records.append(command, engine.nowMs);
  engine.applyRecord(records, at);
  if (engine.result.values[ResultHead.code] !== Code.ok)
    throw new Error(`the engine refuses ${command.kind}`);
  const { sequence } = engine;
  const batch = { firstSequence: sequence, lastSequence: sequence };
  await append(journal, { ...batch, records: bytesOf(records), digest: engine.digest() });
}
