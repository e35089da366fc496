/** What the follower and a leaderboard of a million users cost the trading thread. */
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { Engine } from '../../engine/engine.js';
import { jsonText } from '../../gateway/json/serializer.js';
import type { LeaderboardEntry } from '../../gateway/resources/history/views.js';
import { leaderboardEntryOf } from '../../gateway/resources/history/views.js';
import { Follower } from '../../persistence/follower/follower.js';
import type { HistoryAnswers, RequestOf } from '../../persistence/history/requests.js';
import { openJournal } from '../../persistence/recovery/data-folder.js';
import { Sequencer } from '../../persistence/sequencer.js';
import { inFolder } from '../measure/machine.js';
import { type Part, percent, type Section, sectionOf, tableOf, textOf } from '../measure/report.js';
import { median, Samples, spread } from '../measure/samples.js';
import { type LoopResult, runClosedLoop } from '../workload/closed-loop.js';
import { planWorkload, type Workload } from '../workload/workload.js';
import { LARGE_AT_MS, LARGE_USERS, largeExchange } from './large-exchange.js';

export interface FollowerBenchOptions {
  /** The folder in which temporary folders are created. */
  parent: string;
  /** How long each loop runs, unless the commands end first. */
  seconds: number;
}

const ROUNDS = 3;
/** The long run has so many times as many commands, and windows. */
const LONG = 16;
const OUTSTANDING = 1_024;
const PATIENCE_MS = 300_000;
/** So many commands behind, the follower is waited for: the rate that lasts. */
const HELD_COMMANDS = 1_000_000;
const PAGE = 50;
const REQUESTS = 2_000;
/** The time that a request may take on the trading thread. */
const ALLOWED_MS = 1;

export async function benchFollower(
  workload: Workload,
  options: FollowerBenchOptions,
): Promise<Section> {
  const trading = await tradingBeside(workload, options);
  const boards = await inFolder(options.parent, leaderboards);
  return sectionOf(
    'follower',
    [
      `The workload (seed ${workload.options.seed}) through the sequencer, synchronous=FULL, ${OUTSTANDING} outstanding, with and without the follower, ${ROUNDS} alternating rounds. The follower yields to the trading thread and catches up afterwards. In the last row trading waits whenever the follower is ${textOf(HELD_COMMANDS)} commands behind, so that is the rate that lasts. (An exchange does not wait.)`,
      `Leaderboards: ${textOf(LARGE_USERS)} users, all of them listed. Trading thread: how long its event loop was busy with a request, its answer and the answer's JSON. The follower's thread does the ranking.`,
    ],
    [trading, boards],
  );
}

interface Round {
  loop: LoopResult;
  /** The commands that were not in the history when the loop ended, and the time that they took. */
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
  /** Default: without a follower. `held`: trading waits while it is too far behind. */
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
    // The hour of the plan passes in seconds, so snapshots are taken by commands alone.
    snapshotEveryMs: Number.POSITIVE_INFINITY,
    dayFiles: 0,
    log: {
      info: () => {},
      warn: (_, message) => stop(new Error(message)),
      error: (_, message) => stop(new Error(message)),
    },
    elapsedMs: () => performance.now(),
    // One snapshot is enough here: nothing is recovered from it.
    onSnapshot: () => {},
    onDisagreement: (sequence, message) =>
      stop(new Error(`the follower disagrees at ${sequence}: ${message}`)),
  });
}

async function caughtUp(follower: Follower, sequence: number): Promise<void> {
  const untilMs = performance.now() + PATIENCE_MS;
  while (follower.status.projectedSequence < sequence) {
    if (performance.now() > untilMs) throw new Error(`the follower did not reach ${sequence}`);
    await sleep(5);
  }
}

async function leaderboards(folder: string): Promise<Part> {
  const commands = await writeLargeJournal(folder);
  const startedMs = performance.now();
  const follower = startFollower(folder, commands);
  try {
    await caughtUp(follower, commands);
    const historyMs = performance.now() - startedMs;
    const first = await request(follower, commands, pageOf());
    const page = await requests(follower, commands, pageOf);
    const rank = await requests(follower, commands, rankOf);
    return boardsPart({ commands, historyMs, first, page, rank });
  } finally {
    await follower.close();
  }
}

async function writeLargeJournal(folder: string): Promise<number> {
  const journal = await openJournal({ folder, durability: 'off' });
  let failure: Error | null = null;
  const sequencer = new Sequencer({
    engine: new Engine(),
    journal,
    now: () => LARGE_AT_MS,
    onFatal: (error) => {
      failure = error;
    },
  });
  for (const command of largeExchange()) {
    sequencer.submit(command);
    if (sequencer.backlog >= 10_000) await durable(sequencer);
  }
  await durable(sequencer);
  if (failure !== null) throw failure;
  await sequencer.close();
  return sequencer.durableSequence;
}

function durable(sequencer: Sequencer): Promise<void> {
  return new Promise((resolve) =>
    sequencer.releaseAt(sequencer.engine.sequence, { release: resolve }),
  );
}

type BoardRequest = RequestOf<'leaderboard'> | RequestOf<'rank'>;

const pageOf = (): BoardRequest => ({
  kind: 'leaderboard',
  metric: 'profit',
  period: 'all',
  limit: PAGE,
  cursor: null,
});
const rankOf = (i: number): BoardRequest => ({
  kind: 'rank',
  metric: 'profit',
  period: 'all',
  userId: 1 + ((i * 7_919) % LARGE_USERS),
});

interface Requested {
  /** From the request to its JSON. */
  latencyMs: Samples;
  busyMs: number;
}

async function requests(
  follower: Follower,
  sequence: number,
  requestAt: (i: number) => BoardRequest,
): Promise<Requested> {
  const latencyMs = new Samples(REQUESTS);
  const before = performance.eventLoopUtilization();
  for (let i = 0; i < REQUESTS; i++) latencyMs.add(await request(follower, sequence, requestAt(i)));
  const { active } = performance.eventLoopUtilization(before);
  return { latencyMs, busyMs: active / REQUESTS };
}

/** The time until the JSON of the answer is complete. */
function request(follower: Follower, sequence: number, asked: BoardRequest): Promise<number> {
  const startedMs = performance.now();
  return new Promise((resolve, reject) => {
    follower.history.read(asked, sequence, (reply) => {
      if (reply.status === 'unavailable') reject(new Error(reply.reason));
      else if (textLength(reply.answer) === 0) reject(new Error('an answer without text'));
      else resolve(performance.now() - startedMs);
    });
  });
}

function textLength(answer: HistoryAnswers['leaderboard' | 'rank']): number {
  if ('rank' in answer) return `${answer.rank}`.length;
  const entryText = (entry: (typeof answer.entries)[number]) =>
    jsonText<typeof LeaderboardEntry>(leaderboardEntryOf(entry));
  return answer.entries.map(entryText).join(',').length;
}

function boardsPart(of: {
  commands: number;
  historyMs: number;
  first: number;
  page: Requested;
  rank: Requested;
}): Part {
  const { commands, historyMs, first, page, rank } = of;
  const row = (name: string, { busyMs, latencyMs }: Requested) => [
    name,
    busyMs,
    busyMs < ALLOWED_MS ? 'yes' : 'NO',
    ...[0.5, 0.99, 1].map((share) => latencyMs.percentile(share)),
  ];
  return {
    table: {
      title: `Leaderboard of ${textOf(LARGE_USERS)} users, ${textOf(REQUESTS)} requests one after another, in milliseconds (the first one sorts all users: ${textOf(first)}). The follower wrote the history of ${textOf(commands)} commands first, ${textOf((commands / historyMs) * 1_000)} a second`,
      columns: ['request', 'trading thread', `< ${ALLOWED_MS} ms`, 'answered p50', 'p99', 'max'],
      rows: [row(`a page of ${PAGE}`, page), row('a rank', rank)],
    },
    figures: {
      leaderboardEngineThreadMs: page.busyMs,
      rankEngineThreadMs: rank.busyMs,
      leaderboardFirstMs: first,
      historyCommandsPerSecond: (commands / historyMs) * 1_000,
    },
  };
}
