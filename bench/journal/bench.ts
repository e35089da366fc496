/** The engine with its journal: durable commands per second, by `synchronous`. */
import type { Durability } from '../../persistence/journal/open-segment.js';
import { type Disk, describeDisk, inFolder } from '../../test/support/processes/machine.js';
import type { Workload } from '../../test/support/workload/workload.js';
import { type Section, tableOf } from '../measure/report.js';
import { type LoopResult, runClosedLoop } from '../workload/closed-loop.js';

export interface JournalBenchOptions {
  /** For temporary folders. */
  parent: string;
  /** Per loop, unless the commands end first. */
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
const STANDARD = SETTINGS[2]!;

interface SettingResult {
  setting: Setting;
  loop: LoopResult;
}

export function benchJournal(workload: Workload, options: JournalBenchOptions): Promise<Section> {
  const { parent, seconds } = options;
  return inFolder(parent, async (diskFolder) => {
    const disk = await describeDisk(diskFolder);
    const results: SettingResult[] = [];
    for (const setting of SETTINGS) {
      const loop = await inFolder(parent, (folder) =>
        runClosedLoop({ workload, folder, ...setting, seconds }),
      );
      results.push({ setting, loop });
    }
    return report(workload, disk, results);
  });
}

function report(workload: Workload, disk: Disk, results: readonly SettingResult[]): Section {
  const { loop: standard } = results.find(({ setting }) => setting === STANDARD)!;
  const { loop: off } = results.find(({ setting }) => setting.durability === 'off')!;
  return {
    name: 'journal',
    notes: [
      `The same workload (seed ${workload.options.seed}) through the sequencer and the SQLite journal: records, hash chain, digest, head mark. Durable = committed with the stated synchronous. No follower.`,
      `Disk: ${disk.fileSystem}; writing 4 KiB and fdatasync takes ${disk.syncP50Ms.toFixed(3)} ms (p50), ${disk.syncP99Ms.toFixed(3)} ms (p99).`,
    ],
    tables: [
      tableOf(
        'Journalled commands, closed loop; latency from submit to durable, in milliseconds',
        results,
        {
          synchronous: ({ setting }) => setting.durability.toUpperCase(),
          outstanding: ({ setting }) => setting.outstanding,
          'commands/s': ({ loop }) => loop.commands / loop.seconds,
          'commits/s': ({ loop }) => loop.batches / loop.seconds,
          'commands/commit': ({ loop }) => loop.commands / loop.batches,
          p50: ({ loop }) => loop.latencyMs.percentile(0.5),
          p99: ({ loop }) => loop.latencyMs.percentile(0.99),
          'p99.9': ({ loop }) => loop.latencyMs.percentile(0.999),
          max: ({ loop }) => loop.latencyMs.max(),
        },
      ),
    ],
    figures: {
      journalledFullCommandsPerSecond: standard.commands / standard.seconds,
      journalledFullP99Ms: standard.latencyMs.percentile(0.99),
      journalledOffCommandsPerSecond: off.commands / off.seconds,
      syncP50Ms: disk.syncP50Ms,
    },
  };
}
