/**
 * The engine behind its journal: durable commands per second through the exchange's sequencer, by
 * `synchronous`.
 */
import type { Durability } from '../../persistence/journal/journal.js';
import { type Disk, describeDisk, makeFolder, removeFolder } from '../measure/machine.js';
import type { Section } from '../measure/report.js';
import { type LoopResult, runClosedLoop } from '../workload/closed-loop.js';
import type { Workload } from '../workload/workload.js';

export interface JournalBenchOptions {
  /** The folder in which temporary folders are created. */
  parent: string;
  /** How long each loop runs, unless the commands end first. */
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
/** The setting that the figures are taken from. */
const STANDARD = SETTINGS[2]!;

interface SettingResult {
  setting: Setting;
  loop: LoopResult;
}

export async function benchJournal(
  workload: Workload,
  options: JournalBenchOptions,
): Promise<Section> {
  const folder = makeFolder(options.parent);
  try {
    const disk = await describeDisk(folder);
    const results: SettingResult[] = [];
    for (const setting of SETTINGS) {
      results.push({ setting, loop: await runSetting(workload, setting, options) });
    }
    return report(workload, disk, results);
  } finally {
    removeFolder(folder);
  }
}

async function runSetting(
  workload: Workload,
  setting: Setting,
  { parent, seconds }: JournalBenchOptions,
): Promise<LoopResult> {
  const folder = makeFolder(parent);
  try {
    return await runClosedLoop({ workload, folder, ...setting, seconds });
  } finally {
    removeFolder(folder);
  }
}

function report(workload: Workload, disk: Disk, results: readonly SettingResult[]): Section {
  const { loop: standard } = results.find(({ setting }) => setting === STANDARD)!;
  const { loop: off } = results.find(({ setting }) => setting.durability === 'off')!;
  return {
    name: 'journal',
    notes: [
      `The same workload (seed ${workload.options.seed}) through the sequencer and the SQLite journal: frames, hash chain, digest, head mark. Durable = committed with the stated synchronous. No follower.`,
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
        rows: results.map(({ setting, loop: { commands, batches, seconds, latencyMs } }) => [
          setting.durability.toUpperCase(),
          setting.outstanding,
          commands / seconds,
          batches / seconds,
          commands / batches,
          ...[0.5, 0.99, 0.999, 1].map((share) => latencyMs.percentile(share)),
        ]),
      },
    ],
    figures: {
      journalledFullCommandsPerSecond: standard.commands / standard.seconds,
      journalledFullP99Ms: standard.latencyMs.percentile(0.99),
      journalledOffCommandsPerSecond: off.commands / off.seconds,
      syncP50Ms: disk.syncP50Ms,
    },
  };
}
