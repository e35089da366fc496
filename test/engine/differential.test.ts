/**
 * The engine against its oracle: random commands in several kinds of exchange, 140,000 in a trial,
 * with every result and event compared. The seed is printed; SEED repeats a run.
 */
import { describe, expect, test } from 'vitest';
import { decodeEvents } from '../../engine/interface/events.js';
import { POOL_SIZES, type PoolSizes } from '../../engine/state/access/room.js';
import { extent, SEED } from '../support/extent.js';
import { NaiveEngine } from '../support/naive-engine/naive-engine.js';
import { RandomCommands, type Scenario, USUAL } from '../support/random-commands.js';
import {
  MESSAGES_AT_MS,
  MessageOrders,
  marketForMessages,
  setupForMessages,
} from '../support/workload/message-orders.js';
import { messagesOf, SHAPES } from '../support/workload/messages.js';
import { WINDOW_START_MS } from '../support/workload/open-market.js';
import { Random } from '../support/workload/random.js';
import { BareBook } from './differential/bare-book.js';
import { EXPECTED_CASES } from './differential/cases.js';
import { Duel } from './differential/duel.js';
import { type LimitPlay, playAll } from './differential/limits/script.js';
import { LIMIT_PLAYS } from './differential/limits.js';

const START_MS = WINDOW_START_MS;
const COMPARED_EVERY = 20;
/** Commands that cover every case; fewer may miss a rare one. */
const ENOUGH_COMMANDS = 100_000;

/**
 * Room for so few client order ids that ids are forgotten, both of a user and of all users, and
 * used again.
 */
const FEW_NAMES: PoolSizes = { ...POOL_SIZES, clientOrderIds: { size: 100, most: 15, assured: 3 } };

/** Room for so little that each user's share is used up part of the time. */
const LITTLE_ROOM: PoolSizes = {
  orders: { size: 60, most: 12, assured: 2 },
  positions: { size: 40, most: 1_000, assured: 1 },
  vaultDeposits: { size: 40, most: 6, assured: 1 },
  tokens: { size: 40, most: 8, assured: 1 },
  referralCodes: { size: 60, most: 8, assured: 2 },
  clientOrderIds: { size: 60, most: 12, assured: 2 },
  keys: { size: 200, most: 40, assured: 5 },
  orderGroups: { size: 30, most: 4, assured: 1 },
  subAccounts: { size: 20, most: 3, assured: 1 },
};

const SCENARIOS: (Scenario & { sizes?: PoolSizes })[] = [
  { ...USUAL, name: 'a thin book', maxRestingOrders: 6, crossingShare: 0.6, spreadTicks: 300 },
  {
    ...USUAL,
    name: 'a deep book',
    stepMs: 120,
    maxRestingOrders: 150,
    crossingShare: 0.2,
    users: 25,
  },
  { ...USUAL, name: 'a narrow price range', spreadTicks: 2, users: 8, stepMs: 400 },
  { ...USUAL, name: 'small orders', maxLots: 6, stepMs: 500, spreadTicks: 400 },
  { ...USUAL, name: 'fortunes', grantMicros: 1e14, maxLots: 1_500_000_000, commands: 8_000 },
  { ...USUAL, name: 'poor users, large orders', grantMicros: 20_000_000, maxLots: 500_000 },
  {
    ...USUAL,
    name: 'three assets over many days',
    assets: 3,
    stepMs: 15_000,
    commands: 20_000,
    silenceShare: 0.002,
    stakeWeight: 0.6,
    unstakeWeight: 0.8,
  },
  {
    ...USUAL,
    name: 'a broken feed',
    stepMs: 8_000,
    outageShare: 0.05,
    priceShare: 0.2,
    assets: 2,
    stakeWeight: 0.6,
    unstakeWeight: 0.8,
  },
  {
    ...USUAL,
    name: 'three users',
    users: 3,
    stepMs: 700,
    maxRestingOrders: 20,
    crossingShare: 0.5,
  },
  { ...USUAL, name: 'little room', sizes: LITTLE_ROOM, stakeWeight: 4, unstakeWeight: 3 },
];

describe(`random commands, SEED=${SEED}`, () => {
  const counts = new Map<string, number>();
  let commands = 0;

  test.each(SCENARIOS.map((scenario, index) => ({ ...scenario, index })))(
    '$name',
    ({ index, sizes = FEW_NAMES, ...scenario }) => {
      const label = `SEED=${SEED}, ${scenario.name}`;
      const duel = new Duel(label, counts, sizes);
      const random = new RandomCommands(`${SEED}:${index}`, scenario, duel.naive);
      for (const command of random.opening()) duel.apply(command, START_MS);
      const tried = extent(scenario.commands, scenario.commands / 10);
      for (let i = 0; i < tried; i++) {
        const { command, atMs } = random.next();
        duel.apply(command, atMs);
        if (i % COMPARED_EVERY === 0) duel.compareState();
      }
      duel.compareState();
      commands += tried;
    },
  );

  test.each(limitPlays())('the limits: $name', (script) => {
    const duel = new Duel(`the limits: ${script.name}`, counts, script.sizes);
    playAll(duel, script);
    duel.compareState();
  });

  test('covered every listed case and no unlisted one', () => {
    process.stdout.write(
      `SEED=${SEED}: what ${commands} random commands and the limits covered\n${table(counts)}\n`,
    );
    const covered = [...counts.keys()];
    const isListed = (name: string) => EXPECTED_CASES.includes(name);
    if (commands < ENOUGH_COMMANDS) expect(covered.filter((name) => !isListed(name))).toEqual([]);
    else expect(covered.sort()).toEqual([...EXPECTED_CASES].sort());
  });
});

describe('messages of the shape of public benchmarks', () => {
  const streams = (Object.keys(SHAPES) as (keyof typeof SHAPES)[]).flatMap((shape) =>
    ['1', '2', '3', '4', '5'].map((seed) => [shape, seed] as const),
  );

  test.each(streams)(
    '%s, seed %s: the engine, the naive one and a bare book report the same',
    (shape, seed) => {
      const { engine, marketId } = marketForMessages();
      const naive = new NaiveEngine();
      for (const command of setupForMessages()) naive.apply(command, WINDOW_START_MS);
      const book = new BareBook();
      const [ofEngine, ofNaive] = [new MessageOrders(marketId), new MessageOrders(marketId)];
      const count = extent(100_000, 1_000);
      for (const message of messagesOf({ seed, count, shape, lifetime: 200 })) {
        const expected = book.report(message);
        const command = ofEngine.commandOf(message);
        engine.apply(command, MESSAGES_AT_MS);
        const events = decodeEvents(engine.events);
        expect(ofEngine.reportOf(message, engine.result.values, events)).toBe(expected);
        naive.apply(ofNaive.commandOf(message), MESSAGES_AT_MS);
        expect(ofNaive.reportOf(message, naive.result, naive.events)).toBe(expected);
      }
      engine.checkInvariants();
    },
  );

  test.each(streams)(
    '%s, seed %s: a modification at the same price that keeps its place shows',
    (shape, seed) => {
      const [book, wrong] = [new BareBook(), new BareBook(true)];
      const messages = [...messagesOf({ seed, count: 10_000, shape, lifetime: 200 })];
      expect(messages.some((one) => book.report(one) !== wrong.report(one))).toBe(true);
    },
  );
});

/** The scripts to play: all in a trial, otherwise the fast ones and one of the slow ones. */
function limitPlays(): LimitPlay[] {
  const long = new Random(SEED).pick(LIMIT_PLAYS.filter(({ isLong }) => isLong));
  const isPlayed = (play: LimitPlay) => extent(1, 0) > 0 || !play.isLong || play === long;
  return LIMIT_PLAYS.filter(isPlayed);
}

function table(counts: Map<string, number>): string {
  const lines = [...counts.entries()]
    .sort()
    .map(([name, count]) => `${String(count).padStart(8)}  ${name}`);
  return lines.join('\n');
}
