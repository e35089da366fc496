/**
 * An engine that replays a journal: at startup, in the follower's thread, on a standby, in the
 * replay tool.
 *
 * Invariant: after each batch the engine has the exchange's sequence and digest. Otherwise a {@link
 * JournalError} names where they differ, and the engine must not be used again. A replay from a
 * snapshot ends in the same state as one from the first command.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Engine } from '../../engine/engine.js';
import { kindAt, timeOf } from '../../engine/interface/command-record.js';
import { checkRecord } from '../../engine/interface/record-check.js';
import { KIND_NAMES, RecordBuffer, RecordError } from '../../engine/interface/records.js';
import { JournalError } from '../journal/errors.js';
import { GENESIS, type JournalPosition } from '../journal/format.js';
import { type JournalBatch, type JournalSource, positionAfter } from '../journal/store.js';
import { loadNewestSnapshot } from './snapshot/load.js';

const PROGRESS_EVERY_MS = 5_000;

/** Progress log of a recovery; fields first, as in pino. */
export interface RecoveryLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export interface StartOptions {
  log: RecoveryLog;
  /** Milliseconds on a clock that never goes back. */
  elapsedMs: () => number;
  /** Called before the first command is replayed, so that no table grows during the replay. */
  makeRoom?: (engine: Engine) => void;
}

export interface SnapshotRecovery {
  engine: Engine;
  /** The end of the journal, and the engine's position. */
  end: JournalPosition;
  snapshotSequence: number;
  batches: number;
  commands: number;
  /** Time to read the snapshot, and to replay the rest. */
  loadMs: number;
  replayMs: number;
}

/**
 * Recovers an engine. @throws JournalError at the first sequence that is damaged or leads to
 * another digest
 */
export async function recoverFromSnapshot(
  options: StartOptions & { folder: string; reader: JournalSource },
): Promise<SnapshotRecovery> {
  const { folder, reader, log, elapsedMs, makeRoom } = options;
  const startedMs = elapsedMs();
  const { engine, position } = await loadNewestSnapshot({ folder, reader, log });
  const { sequence: snapshotSequence } = position;
  makeRoom?.(engine);
  const loadedMs = elapsedMs();
  let batches = 0;
  let saidMs = loadedMs;
  const follower = new JournalFollower(engine, position, {
    proven: ({ lastSequence: sequence }) => {
      batches++;
      const nowMs = elapsedMs();
      if (nowMs - saidMs >= PROGRESS_EVERY_MS) {
        saidMs = nowMs;
        log.info({ sequence }, 'replaying the journal');
      }
      return true;
    },
  });
  await follower.follow(reader);
  const { sequence } = engine;
  const commands = sequence - snapshotSequence;
  const [loadMs, replayMs] = [loadedMs - startedMs, elapsedMs() - loadedMs];
  const times = { loadMs: Math.round(loadMs), replayMs: Math.round(replayMs) };
  log.info(
    { sequence, snapshotSequence, ...times, batches, commands },
    snapshotSequence === 0
      ? 'recovered from the whole journal'
      : 'recovered from a snapshot and the rest of the journal',
  );
  const counts = { batches, commands, loadMs, replayMs };
  return { engine, end: follower.position, snapshotSequence, ...counts };
}

export type Applied = (records: RecordBuffer, at: number) => void;

/**
 * Callbacks of the follower's owner. Their errors pass unchanged, because they are not the
 * journal's.
 */
interface Watch {
  /** Before each batch. False: the batch is not applied, and `follow` ends. */
  mayApply?: () => boolean | Promise<boolean>;
  applying?: (atMs: number) => void;
  applied?: Applied;
  /** After each batch, once its digest is verified. False: `follow` ends. */
  proven?: (batch: JournalBatch) => boolean | Promise<boolean>;
}

/** Below this many executed commands an engine is small. Reserving its tables takes 20 ms. */
const SMALL_COMMANDS = 20_000;
/**
 * Work between two turns of the event loop, a few milliseconds. It counts the numbers in the
 * events, plus a small event's worth for each command: a command that settles a market makes
 * hundreds of events, and a batch may have hundreds of such commands.
 */
const TURN_WORK = 20_000;
const COMMAND_WORK = 8;

/**
 * An engine that follows a journal. The thread answers messages between turns, even within a batch:
 * state read then is durable and chained, but its digest is compared at the batch's end.
 */
export class JournalFollower {
  /** Its digest is not verified yet. */
  isWithinBatch = false;
  private readonly records = new RecordBuffer();
  /** Offset of the next record. */
  private at = 0;
  private hasRoom = false;
  /** Work done in this turn. */
  private work = 0;

  /** @param position the end of a batch. @throws JournalError if the engine is elsewhere. */
  constructor(
    private readonly engine: Engine,
    public position = GENESIS,
    private readonly watch: Watch = {},
  ) {
    checkStart(engine, position);
  }

  /** Ends at the journal's end, or when the owner stops. @throws JournalError as for a recovery */
  async follow(source: JournalSource): Promise<void> {
    const { mayApply, proven } = this.watch;
    for await (const batch of source.batches(this.position)) {
      if (!this.hasRoom && this.engine.sequence >= SMALL_COMMANDS) await this.makeRoom();
      if (mayApply !== undefined && !(await mayApply())) return;
      this.begin(batch);
      while (!this.applySome(batch, TURN_WORK)) await this.turn();
      if (this.work >= TURN_WORK) await this.turn();
      if (proven !== undefined && !(await proven(batch))) return;
    }
  }

  /** Applies the next batch without a pause. @throws JournalError as {@link follow} does. */
  apply(batch: JournalBatch): void {
    this.begin(batch);
    this.applySome(batch, Number.POSITIVE_INFINITY);
  }

  private async turn(): Promise<void> {
    await nextTurn();
    this.work = 0;
  }

  /** Grows tables before they are large, so that large ones are not moved. */
  private async makeRoom(): Promise<void> {
    this.hasRoom = true;
    for (const _ of this.engine.reserveInPieces()) await nextTurn();
  }

  private begin(batch: JournalBatch): void {
    const { engine } = this;
    const { firstSequence } = batch;
    if (firstSequence !== engine.sequence + 1) {
      const what = `the batch at ${firstSequence} does not follow ${engine.sequence}`;
      throw new JournalError(what, engine.sequence + 1);
    }
    try {
      this.records.load(batch.records);
    } catch (error) {
      if (!(error instanceof RecordError)) throw error;
      throw mismatch(firstSequence, `cannot be decoded: ${error.message}`, error);
    }
    this.at = 0;
    this.isWithinBatch = true;
  }

  /** Applies commands up to the turn's limit of work. True: the batch is done and proven. */
  private applySome(batch: JournalBatch, turnWork: number): boolean {
    const { engine, records } = this;
    const { lastSequence } = batch;
    while (engine.sequence < lastSequence) {
      if (this.work >= turnWork) return false;
      const sequence = engine.sequence + 1;
      if (this.at === records.length)
        throw mismatch(sequence, `is missing from its row, which should end at ${lastSequence}`);
      this.at = this.applyOne(this.at, sequence);
      this.work += COMMAND_WORK + engine.events.length;
    }
    if (this.at !== records.length)
      throw mismatch(lastSequence + 1, `is in a row that should end before it`);
    const digest = engine.digest();
    if (digest !== batch.digest) throw otherDigest(batch, digest);
    this.isWithinBatch = false;
    this.position = positionAfter(batch);
    return true;
  }

  /** Checks and applies the command at `at`. Returns the next record's offset. */
  private applyOne(at: number, sequence: number): number {
    const { engine, records, watch } = this;
    const next = this.checkOne(at, sequence);
    watch.applying?.(timeOf(records, at));
    try {
      engine.applyRecord(records, at);
    } catch (error) {
      const kind = KIND_NAMES[kindAt(records, at)];
      throw mismatch(sequence, `(${kind}) cannot be applied: ${(error as Error).message}`, error);
    }
    watch.applied?.(records, at);
    return next;
  }

  private checkOne(at: number, sequence: number): number {
    try {
      return checkRecord(this.records, at);
    } catch (error) {
      throw mismatch(sequence, `cannot be decoded: ${(error as Error).message}`, error);
    }
  }
}

function checkStart(engine: Engine, after: JournalPosition): void {
  const digestFits = after.digest === null || after.digest === engine.digest();
  if (engine.sequence === after.sequence && digestFits) return;
  throw new JournalError(
    `the engine is at sequence ${engine.sequence} with the digest ${engine.digest()}, not at ` +
      `${after.sequence} with ${after.digest}: the snapshot that it started from does not ` +
      'belong to this journal. Move that snapshot out of the folder snapshots and start again',
    after.sequence + 1,
  );
}

function mismatch(sequence: number, what: string, cause?: unknown): JournalError {
  return new JournalError(
    `the journal's command at sequence ${sequence} ${what}. Its row is undamaged, so it was ` +
      'written by another or a faulty version of this program: replay the journal with the ' +
      'version that wrote it.',
    sequence,
    cause,
  );
}

function otherDigest(batch: JournalBatch, digest: string): JournalError {
  return new JournalError(
    `after sequence ${batch.lastSequence} the engine's digest is ${digest}, but the exchange ` +
      `that wrote the journal had ${batch.digest}: one of the commands from ` +
      `${batch.firstSequence} on had a different result then. This is another version of the ` +
      'program, or one of the two runs had faulty memory: replay the journal with the version ' +
      'that wrote it.',
    batch.firstSequence,
  );
}
