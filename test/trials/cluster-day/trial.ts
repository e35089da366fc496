/**
 * Hours of real prices, traded through two gateways of a real cluster, with a takeover at every
 * hour. All must be as in the run of one process (`real-day`): every market matches the price file,
 * every balance the users' own books, every leaderboard and yield the trades that HTTP reported;
 * and one engine that executes the journal from its first command, without any takeover, has the
 * same balances and the same digest.
 *
 * The day begins when the cluster runs and the users are registered, a few hours after midnight.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cluster } from '../../../bench/cluster/cluster.js';
import { Random } from '../../../bench/workload/random.js';
import { move } from '../../../persistence/tools/operations/move.js';
import { eventually } from '../../support/eventually.js';
import { SEED } from '../../support/extent.js';
import { programJson } from '../../support/programs.js';
import { ROOT } from '../../support/sources.js';
import { HOUSE_FUNDS, RealDay, type Span, STARTING_BALANCE } from '../real-day/day.js';
import { checkBalances, checkMarkets, checkStandings } from '../real-day/day-checks.js';
import { checkJournal, type Status } from '../real-day/day-journal.js';
import {
  DAY_FILE,
  DAY_MS,
  DAY_START_MS,
  expectedMarkets,
  QUARTER_MS,
} from '../real-day/day-prices.js';
import { GatewaysClient } from '../real-day/gateways-client.js';
import { takeOverHourly } from '../real-day/takeovers.js';

/** Some winnings are paid automatically, a day later. */
const PATIENT_MARKETS = 4;
const SPEED = 360;
const USERS = 200;
const DAY_END_MS = DAY_START_MS + DAY_MS;

/** What is traded, from the market that starts at `fromMs` on. */
function spanFrom(fromMs: number): Span {
  const paidMs = fromMs + DAY_MS + PATIENT_MARKETS * QUARTER_MS;
  return { fromMs, tradeUntilMs: Number.POSITIVE_INFINITY, watchUntilMs: paidMs + 60_000 };
}

let work: string;
let cluster: Cluster;
const apis: GatewaysClient[] = [];

function client(name: string, readsAnyAge = false): GatewaysClient {
  const urls = cluster.replicas.map(({ url }) => url.slice(0, -'/api'.length));
  const api = new GatewaysClient(urls, new Random(`${SEED}:${name}`), readsAnyAge);
  apis.push(api);
  return api;
}

beforeAll(async () => {
  work = mkdtempSync(join(tmpdir(), 'exchange-cluster-day-'));
  cluster = await Cluster.start({
    program: join(ROOT, 'dist/gateway/main.js'),
    environment: {
      ASSETS: 'BTC',
      PRICE_FEED: `file:${DAY_FILE}`,
      FEED_SPEED: `${SPEED}`,
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

test('hours with a takeover after each end as in the run without', async ({ annotate }) => {
  const api = client('users');
  const day = new RealDay({
    users: USERS,
    patientMarkets: PATIENT_MARKETS,
    api,
    watchApi: client('watch', true),
    seed: SEED,
  });
  await day.open();
  const { watch } = day;
  await eventually(() => watch.active !== null);
  const span = spanFrom(watch.active!.startsAtMs);
  const endMs = Math.min(span.tradeUntilMs, DAY_END_MS);
  const hours = { fromMs: span.fromMs, untilMs: endMs, nowMs: () => watch.nowMs };
  const [takeovers] = await Promise.all([
    takeOverHourly(cluster, hours, new Random(`${SEED}:takeovers`)),
    day.live(span),
  ]);
  const payments = await day.enterPayments();
  const earned = day.enterReferrals();
  // And the one after the day, which is VOID.
  const markets = (endMs - DAY_START_MS) / QUARTER_MS + 1;
  const seen = checkMarkets(day, expectedMarkets().slice(0, markets));
  await checkBalances(day, earned);
  await checkStandings(day, (period) => (period === 'day' ? 0 : USERS / 10));
  const status: Status = (await api.get('/status')).json;
  const open = seen.filter(({ startsAtMs }) => startsAtMs >= span.fromMs && startsAtMs < endMs);
  const traded = open.filter((market) => market.volume > 0).length;
  const text = (atMs: number) => new Date(atMs).toISOString();
  await annotate(
    `${text(span.fromMs)} to ${text(endMs)}, ${traded} of ${open.length} markets traded; ` +
      `${takeovers.length} takeovers: ` +
      `${takeovers.map(({ kind, tookMs }) => `${kind} ${tookMs} ms`).join(', ')}; ` +
      `${day.clients.length} balances, ${status.sequence} commands, ` +
      `${api.repeated} requests repeated; ${payments} payments; ` +
      `${JSON.stringify(day.counted())}`,
  );
  expect(takeovers.length).toBeGreaterThan(1);
  expect(traded).toBeGreaterThan(open.length / 2);

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
});
