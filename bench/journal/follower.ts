/** The follower's cost to the trading thread. */
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { Follower } from '../../persistence/follower/follower.js';
import { openJournal } from '../../persistence/recovery/data-folder.js';
import { inFolder } from '../../test/support/processes/machine.js';
import { median, spread } from '../../test/support/processes/samples.js';
import { planWorkload, type Workload } from '../../test/support/workload/workload.js';
import { type Part, percent, type Section, sectionOf, tableOf, textOf } from '../measure/report.js';
import { type LoopResult, runClosedLoop } from '../workload/closed-loop.js';

export interface FollowerBenchOptions {
  /** For temporary folders. */
  parent: string;
  /** Per loop, unless the commands end first. */
  seconds: number;
}

const ROUNDS = 3;
/** How many times as many commands and windows. */
const LONG = 16;
const OUTSTANDING = 1_024;
const PATIENCE_MS = 300_000;
/** Trading waits while the follower is this many commands behind, to find the sustained rate. */
const HELD_COMMANDS = 1_000_000;

export async function benchFollower(
  workload: Workload,
  options: FollowerBenchOptions,
): Promise<Section> {
  const trading = await tradingBeside(workload, options);
  return sectionOf(
    'follower',
    [
      `The workload (seed ${workload.options.seed}) through the sequencer, synchronous=FULL, ${OUTSTANDING} outstanding, with and without the follower, ${ROUNDS} alternating rounds. The follower yields to the trading thread and catches up afterwards. In the last row trading waits whenever the follower is ${textOf(HELD_COMMANDS)} commands behind, so that is the rate that lasts. (An exchange does not wait.)`,
    ],
    [trading],
  );
}

interface Round {
  loop: LoopResult;
  /** Commands missing in the history when the loop ended, and the time to process them. */
  lagCommands: number;
  catchUpMs: number;
}

async function tradingBeside(
  workload: Workload,
  { parent, seconds }: FollowerBenchOptions,
): Promise<Part> {
  const off: Round[] = [];
  const on: Round[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    off.push(await inFolder(parent, (folder) => runRound({ workload, folder, seconds })));
    on.push(
      await inFolder(parent, (folder) => runRound({ workload, folder, seconds, mode: 'on' })),
    );
  }
  const { options } = workload;
  const commands = options.commands * LONG;
  const long = planWorkload({ ...options, commands, windows: options.windows * LONG });
  const held = await inFolder(parent, (folder) =>
    runRound({ workload: long, folder, seconds: Number.POSITIVE_INFINITY, mode: 'held' }),
  );
  const medianOf = (value: (round: Round) => number) => (rounds: readonly Round[]) =>
    median(rounds.map(value));
  const rate = ({ loop }: Round) => loop.commands / loop.seconds;
  const [offRate, onRate] = [median(off.map(rate)), median(on.map(rate))];
  return {
    table: tableOf(
      `Trading with the follower off and on (${percent(onRate / offRate)} of the rate); latencies in milliseconds`,
      [off, on, [held]],
      {
        follower: (rounds) =>
          rounds === off
            ? 'off'
            : rounds === on
              ? 'on'
              : `on, and keeps up: ${textOf(commands)} commands`,
        'commands/s (median)': (rounds) => median(rounds.map(rate)),
        'commands/s': (rounds) => spread(rounds.map(rate), textOf),
        p50: medianOf(({ loop }) => loop.latencyMs.percentile(0.5)),
        p99: medianOf(({ loop }) => loop.latencyMs.percentile(0.99)),
        'commands behind at the end': medianOf(({ lagCommands }) => lagCommands),
        'ms to catch up': medianOf(({ catchUpMs }) => catchUpMs),
      },
    ),
    figures: {
      followerOffCommandsPerSecond: offRate,
      followerOnCommandsPerSecond: onRate,
      followerKeepsUpCommandsPerSecond: rate(held),
    },
  };
}

interface RoundOptions {
  workload: Workload;
  folder: string;
  seconds: number;
  /** Default: no follower. `held`: trading waits while the follower is too far behind. */
  mode?: 'on' | 'held';
}

async function runRound({ workload, folder, seconds, mode }: RoundOptions): Promise<Round> {
  // The follower needs an existing journal.
  await (await openJournal({ folder })).close();
  const follower = mode === undefined ? null : startFollower(folder, 0);
  try {
    const loop = await runClosedLoop({
      workload,
      folder,
      durability: 'full',
      outstanding: OUTSTANDING,
      seconds,
      onCommit: (sequence) => follower?.committed(sequence),
      isHeld: () => mode === 'held' && follower!.status.lagCommands > HELD_COMMANDS,
    });
    const lagCommands = follower?.status.lagCommands ?? 0;
    const startedMs = performance.now();
    if (follower !== null) await caughtUp(follower, loop.endSequence);
    return { loop, lagCommands, catchUpMs: performance.now() - startedMs };
  } finally {
    await follower?.close();
  }
}

function startFollower(folder: string, durableSequence: number): Follower {
  const stop = (error: Error) => {
    throw error;
  };
  return new Follower({
    folder,
    journal: { folder },
    durableSequence,
    snapshotEveryCommands: 2_000_000,
    // The plan's hour passes in seconds, so only the number of commands triggers snapshots.
    snapshotEveryMs: Number.POSITIVE_INFINITY,
    dayFiles: 0,
    historyDays: 0,
    log: {
      info: () => {},
      warn: (_, message) => stop(new Error(message)),
      error: (_, message) => stop(new Error(message)),
    },
    elapsedMs: () => performance.now(),
    // One snapshot is enough: nothing is recovered from it.
    onSnapshot: () => {},
    onDisagreement: (sequence, message) =>
      stop(new Error(`the follower's state differs at ${sequence}: ${message}`)),
  });
}

async function caughtUp(follower: Follower, sequence: number): Promise<void> {
  const untilMs = performance.now() + PATIENCE_MS;
  while (follower.status.projectedSequence < sequence) {
    if (performance.now() > untilMs) throw new Error(`the follower did not reach ${sequence}`);
    await sleep(5);
  }
}
