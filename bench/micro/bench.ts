/** The section `micro`: timings of small parts, compared with alternatives. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Engine } from '../../engine/engine.js';
import { Outcome, Side } from '../../engine/interface/domain.js';
import { MAX_PRICE_TICKS, MICROS_PER_DOLLAR, UNSIZED_LOTS } from '../../engine/interface/limits.js';
import { Sessions } from '../../gateway/access/sessions.js';
import { quoteText } from '../../gateway/resources/markets/views.js';
import { Leaderboards } from '../../persistence/history/leaderboard/leaderboard.js';
import { JournalFollower } from '../../persistence/recovery/recovery.js';
import { readSnapshot, snapshotBytes } from '../../persistence/recovery/snapshot/file.js';
import { inFolder } from '../../test/support/processes/machine.js';
import { LARGE_AT_MS, largeExchange } from '../../test/support/workload/large-exchange.js';
import { mustApply } from '../../test/support/workload/open-market.js';
import { planWorkload, STANDARD } from '../../test/support/workload/workload.js';
import { readJournal } from '../measure/journal.js';
import { type Section, sectionOf, textOf } from '../measure/report.js';
import { runClosedLoop } from '../workload/closed-loop.js';
import { type Market, market, TAKER } from './market.js';
import { reading } from './reading.js';
import { SAMPLE_MS, timed, type Work } from './timing.js';
import { writing } from './writing.js';

const PAGE = 50;
const OUTSTANDING = 1_024;

export interface MicroOptions {
  parent: string;
  seed: string;
  /** How long each alternative is timed. */
  ms?: number;
  users?: number;
  commands?: number;
}

export function benchMicro(options: MicroOptions): Promise<Section> {
  const { parent, seed, ms = 1_000, users = 100_000, commands = 100_000 } = options;
  const open = market();
  const large = new Engine();
  for (const command of largeExchange({ users, traders: users }))
    mustApply(large, command, LARGE_AT_MS);
  return inFolder(parent, async (folder) => {
    const restoring = [await recovery(folder, { users, seed, commands }), snapshots(folder, large)];
    const parts = [
      await timed('Reading, from bytes to the command', reading(open), ms),
      await timed('Writing, from the result to bytes', writing(open), ms),
      await timed('Answering', [await token(open), quote(open), leaderboard(large)], ms),
      await timed('Restoring, with code that is compiled', restoring, ms),
    ];
    const notes = [
      `tinybench, ${textOf(ms)} ms for each way, warm, one after another. A sample is as many calls as take ${SAMPLE_MS} ms; the margin of error is that of the mean (95%).`,
      "Ways to read or to write that are beside each other must make the same, or the bench fails. The first is the product's for what it reads and writes often.",
    ];
    return sectionOf('micro', notes, parts);
  });
}

async function token({ engine }: Market): Promise<Work> {
  const secret = Buffer.alloc(32, 's');
  const sessions = new Sessions([secret]);
  const issued = await sessions.issue(TAKER, engine.credentialVersion(TAKER)!, engine.nowMs);
  // As in a request: a string that V8 has not seen.
  const bytes = Buffer.from(issued);
  const check = (by: Sessions) => {
    const session = by.check(bytes.toString('latin1'), engine);
    return typeof session === 'string' ? Promise.reject(new Error(session)) : session;
  };
  const ways = { known: () => check(sessions), new: () => check(new Sessions([secret])) };
  return { name: 'the check of a token', figure: 'token', ways };
}

function quote({ engine, marketId }: Market): Work {
  const order = { userId: TAKER, marketId, side: Side.BUY, outcome: Outcome.UP };
  const terms = {
    budgetMicros: 100 * MICROS_PER_DOLLAR,
    sizeLots: UNSIZED_LOTS,
    priceTicks: MAX_PRICE_TICKS,
  };
  const view = () => engine.quote({ ...order, ...terms })!;
  const asOf = { sequence: engine.sequence, atMs: engine.nowMs };
  const asJson = () => quoteText(engine, order, view(), asOf);
  const ways = { engine: view, 'engine and JSON': asJson };
  return { name: `a quote that meets ${view().fillCount} orders`, figure: 'quote', ways };
}

function leaderboard(engine: Engine): Work {
  const boards = new Leaderboards(engine);
  const page = () => boards.of('volume', 'all').page(PAGE, null);
  const name = `the first ${PAGE} of ${textOf(engine.userCount)} users by volume`;
  return { name, figure: 'leaderboard', ways: { follower: page } };
}

function snapshots(folder: string, engine: Engine): Work {
  const { sequence } = engine;
  const position = { sequence, hash: Buffer.alloc(32, 1), digest: engine.digest() };
  const made = () => Buffer.concat([...snapshotBytes(engine, position)]);
  const path = join(folder, 'micro.snapshot');
  writeFileSync(path, made());
  const ways = { 'made in memory': made, 'loaded, with all checks': () => readSnapshot(path) };
  return { name: `a snapshot of ${textOf(engine.userCount)} users`, figure: 'snapshot', ways };
}

async function recovery(
  folder: string,
  { users, seed, commands }: { users: number; seed: string; commands: number },
): Promise<Work> {
  const traders = Math.min(users, STANDARD.users);
  const workload = planWorkload({ ...STANDARD, users: traders, seed, commands });
  const loop = { workload, folder, durability: 'off', outstanding: OUTSTANDING } as const;
  const { digest } = await runClosedLoop({ ...loop, seconds: Number.POSITIVE_INFINITY });
  const replay = async () => {
    const engine = new Engine();
    await readJournal(folder, (reader) => new JournalFollower(engine).follow(reader));
    if (engine.digest() !== digest) throw new Error('the recovered engine has another digest');
  };
  return {
    name: `${textOf(commands)} commands replayed into a new engine`,
    figure: 'recovery',
    ways: { journal: replay },
  };
}
