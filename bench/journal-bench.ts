/**
 * The engine behind its journal: commands per second that are durable, through the very sequencer of the exchange, and how fast a journal
 * is replayed. A closed loop: so many commands are outstanding at any time, and each one that becomes durable is followed by the next.
 */
import { Engine } from '../engine/engine.js';
import { type Durability, openJournal } from '../persistence/journal.js';
import { openJournalReader } from '../persistence/journal-reader.js';
import { type RecoveryReport, recover } from '../persistence/recovery.js';
import { type ReleaseTarget, Sequencer } from '../persistence/sequencer.js';
import { describeDisk, folderBytes, makeFolder, removeFolder } from './machine.js';
import type { Section } from './report.js';
import { Samples } from './samples.js';
import type { Workload } from './workload.js';

export interface JournalBenchOptions {
  /** Folders for the journals are made in here, and removed. */
  parent: string;
  /** How long each loop runs, unless the tape ends first. */
  seconds: number;
}

interface Setting {
  durability: Durability;
  outstanding: number;
}

const SETTINGS: readonly Setting[] = [
  { durability: 'full', outstanding: 1 },
  { durability: 'full', outstanding: 64 },
  { durability: 'full', outstanding: 1_024 },
  { durability: 'full', outstanding: 8_192 },
  { durability: 'normal', outstanding: 1_024 },
  { durability: 'off', outstanding: 1_024 },
];
/** The setting that the figures and the replay are taken from. */
const STANDARD = SETTINGS[2]!;

export async function benchJournal(workload: Workload, options: JournalBenchOptions): Promise<Section> {
  const folder = makeFolder(options.parent);
  try {
    const disk = await describeDisk(folder);
    const loops: LoopResult[] = [];
    const replays: ReplayResult[] = [];
    for (const setting of SETTINGS) {
      const { loop, replay } = await runSetting(workload, setting, options);
      loops.push(loop);
      if (replay !== null) replays.push(replay);
    }
    return report(workload, disk, loops, replays);
  } finally {
    removeFolder(folder);
  }
}

function report(
  workload: Workload,
  disk: { fileSystem: string; syncP50Ms: number; syncP99Ms: number },
  loops: readonly LoopResult[],
  replays: readonly ReplayResult[],
): Section {
  const standard = loops.find((loop) => loop.setting === STANDARD)!;
  const off = loops.find((loop) => loop.setting.durability === 'off')!;
  return {
    name: 'journal',
    notes: [
      `The same workload (seed ${workload.options.seed}) through the sequencer and the SQLite journal: frames, hash chain, digest, head mark. Durable = committed with the stated synchronous.`,
      `Disk: ${disk.fileSystem}; writing 4 KiB and fdatasync takes ${disk.syncP50Ms.toFixed(3)} ms (p50), ${disk.syncP99Ms.toFixed(3)} ms (p99).`,
    ],
    tables: [
      {
        title: 'Journalled commands, closed loop; latency from submit to durable, in milliseconds',
        columns: [
          'synchronous',
          'outstanding',
          'commands/s',
          'commits/s',
          'commands/commit',
          'p50',
          'p99',
          'p99.9',
          'max',
        ],
        rows: loops.map(({ setting, commands, batches, seconds, latencyMs }) => [
          setting.durability.toUpperCase(),
          setting.outstanding,
          commands / seconds,
          batches / seconds,
          commands / batches,
          ...[0.5, 0.99, 0.999, 1].map((share) => latencyMs.percentile(share)),
        ]),
      },
      {
        title:
          'Recovery: the journal read, its chain and digests checked, every command applied to a new engine',
        columns: ['synchronous', 'outstanding', 'commands', 'batches', 'commands/s', 'bytes/command'],
        rows: replays.map(({ setting, report: { commands, batches, durationMs }, bytes }) => [
          setting.durability.toUpperCase(),
          setting.outstanding,
          commands,
          batches,
          (commands / durationMs) * 1_000,
          bytes / commands,
        ]),
      },
    ],
    figures: {
      journalledFullCommandsPerSecond: standard.commands / standard.seconds,
      journalledFullP99Ms: standard.latencyMs.percentile(0.99),
      journalledOffCommandsPerSecond: off.commands / off.seconds,
      replayCommandsPerSecond: (replays[0]!.report.commands / replays[0]!.report.durationMs) * 1_000,
      syncP50Ms: disk.syncP50Ms,
    },
  };
}

interface LoopResult {
  setting: Setting;
  commands: number;
  batches: number;
  seconds: number;
  latencyMs: Samples;
}

interface ReplayResult {
  setting: Setting;
  report: RecoveryReport;
  bytes: number;
}

async function runSetting(
  workload: Workload,
  setting: Setting,
  options: JournalBenchOptions,
): Promise<{ loop: LoopResult; replay: ReplayResult | null }> {
  const folder = makeFolder(options.parent);
  try {
    const journal = await openJournal({ folder, durability: setting.durability });
    const loop = new ClosedLoop(workload, setting, options.seconds);
    const sequencer = new Sequencer({
      engine: new Engine(),
      journal,
      now: () => loop.atMs,
      onFatal: (error) => loop.fail(error),
    });
    const result = await loop.run(sequencer);
    await sequencer.close();
    const digest = sequencer.engine.digest();
    const replay = setting === STANDARD ? await replayOf(folder, setting, digest) : null;
    return { loop: result, replay };
  } finally {
    removeFolder(folder);
  }
}

async function replayOf(folder: string, setting: Setting, digest: string): Promise<ReplayResult> {
  const bytes = folderBytes(folder);
  const reader = await openJournalReader(folder);
  try {
    const engine = new Engine();
    const report = await recover({ reader, engine, elapsedMs: () => performance.now() });
    if (engine.digest() !== digest) throw new Error('the replayed engine has another digest');
    return { setting, report, bytes };
  } finally {
    await reader.close();
  }
}

/** Feeds the tape to a sequencer, so many commands at a time, until the time or the tape is over. */
class ClosedLoop {
  /** The time of the command that is submitted next, as the plan has it. */
  atMs = 0;
  private next = 0;
  private running = 0;
  private deadlineMs = 0;
  private readonly latencyMs: Samples;
  private sequencer: Sequencer | null = null;
  private finished: (() => void) | null = null;
  private failed: ((error: Error) => void) | null = null;

  constructor(
    private readonly workload: Workload,
    private readonly setting: Setting,
    private readonly seconds: number,
  ) {
    this.latencyMs = new Samples(workload.tape.length);
  }

  fail(error: Error): void {
    if (this.failed === null) throw error;
    this.failed(error);
  }

  async run(sequencer: Sequencer): Promise<LoopResult> {
    this.sequencer = sequencer;
    await this.setUp(sequencer);
    globalThis.gc?.();
    const batchesBefore = sequencer.batchesCommitted;
    const startedMs = performance.now();
    this.deadlineMs = startedMs + this.seconds * 1_000;
    await new Promise<void>((resolve, reject) => {
      this.finished = resolve;
      this.failed = reject;
      for (let i = 0; i < this.setting.outstanding; i++) this.submitNext(new Outstanding(this));
    });
    const seconds = (performance.now() - startedMs) / 1_000;
    const batches = sequencer.batchesCommitted - batchesBefore;
    if (this.latencyMs.count !== this.next) throw new Error('commands were not released');
    if (this.next === this.workload.tape.length && sequencer.engine.digest() !== this.workload.digest) {
      throw new Error('the engine ended with another digest than the plan');
    }
    return { setting: this.setting, commands: this.next, batches, seconds, latencyMs: this.latencyMs };
  }

  released(outstanding: Outstanding): void {
    const nowMs = performance.now();
    this.latencyMs.add(nowMs - outstanding.submittedMs);
    this.running--;
    if (nowMs < this.deadlineMs && this.next < this.workload.tape.length) this.submitNext(outstanding);
    else if (this.running === 0) this.finished!();
  }

  private submitNext(outstanding: Outstanding): void {
    const sequencer = this.sequencer!;
    const i = this.next++;
    this.running++;
    this.atMs = this.workload.tape.atMs[i]!;
    outstanding.submittedMs = performance.now();
    sequencer.submit(this.workload.tape.read(i));
    sequencer.releaseAt(sequencer.engine.sequence, outstanding);
  }

  private async setUp(sequencer: Sequencer): Promise<void> {
    for (const { command, atMs } of this.workload.setup) {
      this.atMs = atMs;
      sequencer.submit(command);
    }
    await new Promise<void>((resolve, reject) => {
      this.failed = reject;
      sequencer.releaseAt(sequencer.engine.sequence, { release: resolve });
    });
  }
}

/** One place of the loop: a command that is not durable yet. */
class Outstanding implements ReleaseTarget {
  submittedMs = 0;

  constructor(private readonly loop: ClosedLoop) {}

  release(): void {
    this.loop.released(this);
  }
}
