/**
 * Every answer is consistent at the sequence that it names: its parts from the history and from an
 * engine belong to the same moment. Every answer of a running exchange is compared with an engine
 * replayed to exactly that sequence.
 */
import { afterEach, expect, test } from 'vitest';
import { Engine } from '../../../engine/engine.js';
import { hasEnded } from '../../../engine/interface/domain.js';
import { marketIdText } from '../../../engine/interface/notation.js';
import { openJournalReader } from '../../../persistence/journal/reader.js';
import { JournalFollower } from '../../../persistence/recovery/recovery.js';
import { MARKET, TestServer, WINDOW_MS, WINDOW_START_MS } from '../../support/server.js';

let server: TestServer;
afterEach(() => server.stop());

interface Shown {
  path: string;
  // biome-ignore lint/suspicious/noExplicitAny: answers of several routes.
  json: any;
}

test('profiles, points, markets and their lists are consistent while prices and trades continue', async () => {
  // Takes snapshots at the usual interval, because their records in the journal are commands, too.
  server = await TestServer.withMarket({ snapshotEveryMs: 300_000 });
  const ada = await server.register('ada');
  const bob = await server.register('bob');
  const paths = [`/users/${ada.userId}`, `/users/${bob.userId}`, `/users/${ada.userId}/points`];
  paths.push('/markets/15m/history', `/markets/${MARKET}`, '/markets?limit=9&asset=BTC');
  const answers: Shown[] = [];
  const asked: Promise<void>[] = [];
  const ask = (path: string) => {
    const token = path.endsWith('/points') ? ada.token : undefined;
    const answered = server.api.read(path, token).then(({ status, json }) => {
      expect(status, JSON.stringify(json)).toBe(200);
      answers.push({ path, json });
    });
    asked.push(answered);
  };
  // The follower runs. From now on it is behind by the commands of one window at most.
  await server.followed();
  const act = (id: string, side: string, body: object, token: string) =>
    server.api.post(`/markets/15m/${id}/${side}`, body, token);
  for (let window = 0; window < 4; window++) {
    const startsAtMs = WINDOW_START_MS + window * WINDOW_MS;
    const id = `btc-15m-${startsAtMs / 1_000}`;
    for (let i = 0; i < 12; i++) {
      server.clock.set(startsAtMs + 20_000 + i * 60_000);
      for (const path of paths) ask(path);
      const maker = act(
        id,
        'buy',
        { outcome: 'UP', shares: 4, price: 0.5, timeInForce: 'GTC' },
        ada.token,
      );
      server.feed.deliver('BTC', 100_000 + window * 100 + i);
      // Of two requests on two connections, either may be executed first.
      const taker = maker.then(() => act(id, 'buy', { outcome: 'DOWN', amount: 1 }, bob.token));
      for (const path of paths) ask(path);
      server.feed.deliver('BTC', 100_050 + window * 100 + i);
      expect([(await maker).status, (await taker).status]).toEqual([200, 200]);
    }
    for (const path of paths) ask(path);
    await server.passTime(startsAtMs + WINDOW_MS + 10_000, 100_000 + window);
    await Promise.all(asked);
  }
  // Once with the complete history, even if the machine has been busy until now.
  await server.followed();
  for (const path of paths) ask(path);
  await Promise.all(asked);
  await expectTrue(answers);
  expect(answers.some(({ json }) => json.priceHistory?.length > 1)).toBe(true);
});

/** Replays an engine from one sequence to the next, and compares it with the answers at each. */
async function expectTrue(answers: readonly Shown[]): Promise<void> {
  const engine = new Engine();
  const reader = await openJournalReader(server.folder);
  const bySequence = new Map<number, Shown[]>();
  for (const shown of answers) {
    const { sequence } = shown.json;
    bySequence.set(sequence, [...(bySequence.get(sequence) ?? []), shown]);
  }
  let held = 0;
  const applied = () => {
    for (const shown of bySequence.get(engine.sequence) ?? []) {
      expectTrueNow(engine, shown);
      held++;
    }
  };
  await new JournalFollower(engine, undefined, { applied }).follow(reader);
  await reader.close();
  expect(held).toBe(answers.length);
  expect(bySequence.size).toBeGreaterThan(20);
}

function expectTrueNow(engine: Engine, { path, json }: Shown): void {
  const where = `${path} at ${json.sequence}`;
  expect(json.atMs, where).toBe(engine.nowMs);
  if (path.endsWith('/points')) {
    const points = engine.account(Number(json.userId.slice(1)))!.microPoints / 1e6;
    expect(json.balance, where).toBe(points);
    const sum = json.history.reduce(
      (total: number, credit: { points: number }) => total + credit.points,
      0,
    );
    expect(sum, where).toBeCloseTo(points, 6);
  } else if (path.startsWith('/users')) {
    const account = engine.account(Number(json.userId.slice(1)))!;
    expect([json.volume, json.realizedProfit, json.trades], where).toEqual([
      account.volumeMicros / 1e6,
      account.realizedProfitMicros / 1e6,
      account.tradeCount,
    ]);
  } else {
    for (const market of json.markets ?? [json]) expectMarket(engine, market, json.sequence, where);
    if (path.endsWith('/history')) {
      const ended = engine.marketIds().filter((id) => hasEnded(engine.market(id)!.status));
      expect(json.markets.length, where).toBe(ended.length);
    }
  }
}

// biome-ignore lint/suspicious/noExplicitAny: a market as the API returns it.
function expectMarket(engine: Engine, market: any, sequence: number, where: string): void {
  const known = engine.marketIds().map((marketId) => engine.market(marketId)!);
  const view = known.find(({ marketId }) => marketIdText(engine, marketId) === market.id)!;
  const price = engine.assetPriceMicros(view.asset);
  const assetPrice = price === null ? null : price / 1e6;
  expect([market.sequence, market.assetPrice], where).toEqual([sequence, assetPrice]);
  expect(market.atMs, where).toBe(engine.nowMs);
  expect([market.status, market.volume], where).toEqual([
    ['active', 'ended', 'resolved', 'upcoming'][view.status],
    view.volumeMicros / 1e6,
  ]);
  // A market that never opened has no prices.
  if (market.priceHistory === undefined || market.startPrice === null) return;
  // The history was behind. Then only an active market is shown, with all other fields current.
  if (market.priceHistory === null) {
    expect(market.status, where).toBe('active');
    return;
  }
  // One point for each mark up to the engine's time, and none beyond it.
  const lastMs = Math.min(Math.floor(engine.nowMs / 5_000) * 5_000, view.endsAtMs);
  expect(market.priceHistory.at(-1).atMs, where).toBeGreaterThanOrEqual(
    Math.min(lastMs, view.endsAtMs),
  );
}
