/**
 * Hours of real prices, traded through two gateways of a real cluster, with a takeover at every
 * hour. All must be as in the run of one process (real-day.test.ts): every market matches the price
 * file, every balance the users' own books, every leaderboard and yield the trades that HTTP
 * reported; and one engine that executes the journal from its first command, without any takeover,
 * has the same balances and the same digest.
 *
 * `npm run cluster-day` does this for the whole day (CLUSTER_DAY=whole), with a takeover at each of
 * its 24 hours; CLUSTER_DAY=short for two and a half hours, with two takeovers. Without the
 * variable nothing is run: on two cores it takes too long for npm test. REAL_DAY_SEED repeats the
 * users' choices.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cluster } from '../../bench/cluster/cluster.js';
import { Random } from '../../bench/workload/random.js';
import { move } from '../../persistence/operations/move.js';
import { programJson } from '../support/replay-tool.js';
import { seedOf } from '../support/seed.js';
import { ROOT } from '../support/sources.js';
import { HOUSE_FUNDS, RealDay, STARTING_BALANCE } from './real-day/day.js';
import { checkBalances, checkMarkets, checkStandings } from './real-day/day-checks.js';
import { checkJournal, type Status } from './real-day/day-journal.js';
import {
  DAY_FILE,
  DAY_MS,
  DAY_START_MS,
  expectedMarkets,
  QUARTER_MS,
} from './real-day/day-prices.js';
import { GatewaysClient } from './real-day/gateways-client.js';
import { takeOverHourly } from './real-day/takeovers.js';

const SEED = seedOf('REAL_DAY_SEED');
/** Of the whole day, some winnings are paid automatically, a day later. */
const PATIENT_MARKETS = 4;
const WHOLE = {
  speed: 360,
  users: 200,
  hours: 24,
  patientMarkets: PATIENT_MARKETS,
  tradeUntilMs: Number.POSITIVE_INFINITY,
  watchUntilMs: DAY_START_MS + DAY_MS + PATIENT_MARKETS * QUARTER_MS + 60_000,
  markets: 97,
  limitMs: 1_800_000,
};
const MARKETS = 10;
const SHORT = {
  speed: 720,
  users: 60,
  hours: 2,
  patientMarkets: 0,
  tradeUntilMs: DAY_START_MS + MARKETS * QUARTER_MS,
  watchUntilMs: DAY_START_MS + MARKETS * QUARTER_MS + 60_000,
  markets: MARKETS,
  limitMs: 240_000,
};
const size = process.env['CLUSTER_DAY'] ?? '';
const { speed, hours, markets, limitMs, ...plan } = size === 'whole' ? WHOLE : SHORT;

const work = mkdtempSync(join(tmpdir(), 'exchange-cluster-day-'));
let cluster: Cluster;
const apis: GatewaysClient[] = [];

function client(name: string, readsAnyAge = false): GatewaysClient {
  const urls = cluster.gateways.map(({ url }) => url.slice(0, -'/api'.length));
  const api = new GatewaysClient(urls, new Random(`${SEED}:${name}`), readsAnyAge);
  apis.push(api);
  return api;
}

beforeAll(async () => {
  cluster = await Cluster.start({
    program: join(ROOT, 'dist/gateway/main.js'),
    environment: {
      ASSETS: 'BTC',
      PRICE_FEED: `file:${DAY_FILE}`,
      FEED_SPEED: `${speed}`,
      STARTING_BALANCE: `${STARTING_BALANCE}`,
      HOUSE_FUNDS: `${HOUSE_FUNDS}`,
      FAIR_USE: 'off',
      PASSWORD_COST_LOG2: '10',
      LOG_LEVEL: 'info',
    },
  });
}, 120_000);

afterAll(async () => {
  for (const api of apis) await api.close();
  await cluster?.stop();
  rmSync(work, { recursive: true, force: true });
});

test.runIf(size !== '')(
  `${hours} hours with ${hours} takeovers end as in the run without, REAL_DAY_SEED=${SEED}`,
  {
    timeout: limitMs,
  },
  async () => {
    const api = client('users');
    const day = new RealDay({ ...plan, api, watchApi: client('watch', true), seed: SEED });
    await day.open();
    const { watch } = day;
    const random = new Random(`${SEED}:takeovers`);
    const [takeovers] = await Promise.all([
      takeOverHourly(cluster, { hours, nowMs: () => watch.nowMs, random }),
      day.live(),
    ]);
    const payments = await day.enterPayments();
    const earned = day.enterReferrals();
    const seen = checkMarkets(day, expectedMarkets().slice(0, markets));
    await checkBalances(day, earned);
    await checkStandings(day, () => plan.users / 10);
    const status: Status = (await api.get('/status')).json;
    const traded = seen.filter((market) => market.volume > 0).length;
    process.stdout.write(
      `${hours} hours, ${takeovers.map(({ kind, tookMs }) => `${kind} ${tookMs} ms`).join(', ')}; ` +
        `${api.repeated} requests repeated; ${traded} of ${seen.length} markets traded, ` +
        `${payments} payments; ${JSON.stringify(day.counted())}\n`,
    );
    expect(takeovers).toHaveLength(hours);
    expect(traded).toBeGreaterThan(seen.length / 2);

    await cluster.stopExchanges();
    const folder = join(work, 'copy');
    await move({
      from: { postgres: cluster.postgres.address },
      to: { folder },
      isUnreplicated: false,
    });
    const { settled } = await checkJournal(day, folder, status);
    expect(settled).toBeGreaterThanOrEqual(markets);
    expect(await programJson(folder, 'verify')).toMatchObject({ good: true, findings: [] });
    expect(await programJson(folder, 'audit')).toMatchObject({ good: true, findings: [] });
  },
);
