/**
 * `verify`: checks that everything in the data folder is what the exchange wrote. First it judges
 * the folder as a starting exchange does (judgement.ts): what the exchange would refuse is damage,
 * with the same message. Then it replays the journal and compares snapshots and history with it, in
 * one thread: a second thread for checking segments was not faster on a journal of 10 GB.
 */
import { Engine } from '../../../../engine/engine.js';
import type { RecordBuffer } from '../../../../engine/interface/records.js';
import { JournalError } from '../../../journal/errors.js';
import { GENESIS, type JournalPosition } from '../../../journal/format.js';
import { MissingSegments } from '../../../journal/reader.js';
import { judgeFolder, UnmarkedJournal } from '../../../recovery/judgement.js';
import { vouchAt } from '../../../recovery/snapshot/vouched.js';
import { ExitStatus } from '../../program.js';
import { type Invocation, replayJournal, type Visitor } from '../input/replay-journal.js';
import { type Finding, findingOf } from '../output/findings.js';
import { HistoryComparison } from '../proofs/history.js';
import { SnapshotComparison, type SnapshotVerdict } from '../proofs/snapshots.js';

export async function verify(request: Invocation): Promise<ExitStatus> {
  const verification = new Verification(request);
  await verification.run();
  return verification.findings.length === 0 ? ExitStatus.GOOD : ExitStatus.DAMAGE;
}

class Verification implements Visitor {
  readonly findings: Finding[] = [];
  private snapshots: SnapshotComparison | null = null;
  private history: HistoryComparison | null = null;
  /** The engine of the replay; empty until the journal is read. */
  private engine = new Engine();
  private position: JournalPosition = GENESIS;
  private atMs = 0;
  private batches = 0;
  /** Where the replay began if earlier segments are archived, or 0. */
  private beganAt = 0;

  constructor(private readonly request: Invocation) {}

  async run(): Promise<void> {
    try {
      const whole = await this.replay();
      // Without a readable journal, check the snapshots alone.
      const snapshots = this.snapshots ?? new SnapshotComparison(this.request.folder);
      snapshots.finish(whole ? this.position.sequence : null);
      this.history?.finish(this.position.sequence, whole);
      this.findings.push(...(this.history?.findings ?? []));
      for (const { finding } of snapshots.verdicts)
        if (finding !== null) this.findings.push(finding);
      this.report(whole, snapshots.verdicts);
    } finally {
      await this.history?.close();
    }
  }

  applying(atMs: number): void {
    this.history?.applying(atMs);
  }

  applied(records: RecordBuffer, at: number): void {
    this.history?.applied();
    const vouch = vouchAt(records, at);
    if (vouch !== null) this.snapshots!.vouched(vouch);
  }

  async proven(position: JournalPosition): Promise<boolean> {
    this.position = position;
    this.atMs = this.engine.nowMs;
    this.batches++;
    this.snapshots!.compare(this.engine, position);
    await this.history?.proven(position);
    return true;
  }

  private async replay(): Promise<boolean> {
    const { folder } = this.request;
    const judged = judgeFolder(folder, { acceptMissingMark: false, checkAll: true });
    const refusal = await journalErrorOf(judged);
    const damage = await journalErrorOf(this.replayAll().catch(unlessMissing));
    if (refusal !== null) this.findings.push(findingOf(refusal));
    if (damage !== null && damage.message !== refusal?.message)
      this.findings.push(findingOf(damage));
    return damage === null && (refusal === null || refusal instanceof UnmarkedJournal);
  }

  private async replayAll(): Promise<void> {
    const { folder, progress } = this.request;
    const visit = async (engine: Engine, _: number | null, start: JournalPosition) => {
      this.engine = engine;
      this.position = start;
      this.beganAt = start.sequence;
      this.snapshots = new SnapshotComparison(folder, start.sequence);
      if (start.sequence > 0) this.snapshots.compare(engine, start);
      else this.history = await HistoryComparison.of(folder, engine);
      await this.history?.open();
      return this;
    };
    await replayJournal({ folder, progress, visit, mayBeginLater: true });
  }

  private report(whole: boolean, snapshots: readonly SnapshotVerdict[]): void {
    const { atMs, batches, beganAt, history, findings } = this;
    const { output } = this.request;
    for (const { finding, ...fields } of snapshots)
      output.emit('snapshot', { ...fields, good: finding === null });
    if (history !== null) {
      const { sequence, entries } = history;
      output.emit('history', { sequence, good: history.findings.length === 0, entries });
    }
    for (const finding of findings) output.finding(finding);
    const good = findings.length === 0;
    const unread = `the segments before the snapshot at sequence ${beganAt}, and the history, were not verified: bring the archived segments back first`;
    const { sequence, digest } = this.position;
    output.emit('verify', {
      ...{ good, findings: findings.length, whole, sequence, atMs, digest, batches, beganAt },
      ...(beganAt === 0 ? {} : { unread }),
      conclusion: good ? 'No damage was found.' : 'Damage was found.',
    });
  }
}

/** The judgement has reported missing segments, and checked the others. */
function unlessMissing(error: unknown): void {
  if (!(error instanceof MissingSegments)) throw error;
}

async function journalErrorOf(work: Promise<unknown>): Promise<JournalError | null> {
  try {
    await work;
    return null;
  } catch (error) {
    if (error instanceof JournalError) return error;
    throw error;
  }
}
