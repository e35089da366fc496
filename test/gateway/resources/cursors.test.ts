/**
 * Cursors belong to the list that returned them, including its filters and owner. Other lists
 * refuse them by name and never use them as a position.
 */
import { afterAll, expect, test } from 'vitest';
import { TimeInForce } from '../../../engine/interface/domain.js';
import { sessionSecrets } from '../../../gateway/access/secret.js';
import { Sessions } from '../../../gateway/access/sessions.js';
import { buildDocument } from '../../../gateway/contract/document.js';
import { ROUTES } from '../../../gateway/resources/routes.js';
import { buy } from '../../support/engine-support.js';
import { Folders } from '../../support/journal-fixture.js';
import { ReplayExchange } from '../../support/replay-exchange.js';
import { TestServer } from '../../support/server.js';
import { programContract } from '../contract/check.js';

interface List {
  path: string;
  token?: string;
}

const folders = new Folders();

const ask = ({ path, token }: List, query: string) =>
  server.api.read(`${path}${path.includes('?') ? '&' : '?'}${query}`, token);

const folder = folders.make();
const exchange = await ReplayExchange.open(folder, 'cursors');
await exchange.run(600);
for (let i = 0; i < 300 || exchange.engine.activeMarket(0) === 0; i++) exchange.trade();
for (const userId of [1, 2, 1, 2]) rest(exchange, userId);
await exchange.settle();
const { engine, nowMs } = exchange;
const sessions = new Sessions(sessionSecrets(folder));
const userIds = Array.from({ length: engine.userCount }, (_, i) => i + 1);
const versions = userIds.map((userId) => engine.credentialVersion(userId));
await exchange.sequencer.close();
const server = await TestServer.start({}, folder, nowMs);
const { json } = await server.api.read('/markets/15m/history?limit=200');
const traded = json.markets.filter(({ volume }: { volume: number }) => volume > 0);
const lists = [
  ...['', '?asset=BTC', '?status=resolved', '?asset=ETH'].map((query) => ({
    path: `/markets${query}`,
  })),
  ...['', '?asset=BTC', '?asset=ETH'].map((query) => ({ path: `/markets/15m/history${query}` })),
  ...['btc/candles', 'btc/candles?interval=5s', 'eth/candles'].map((list) => ({
    path: `/assets/${list}`,
  })),
  ...['trades', 'events', 'candles'].flatMap((part) =>
    traded.slice(0, 2).map(({ id }: { id: string }) => ({ path: `/markets/15m/${id}/${part}` })),
  ),
  ...['profit', 'volume', 'points'].flatMap((metric) =>
    ['all', 'week'].map((period) => ({ path: `/leaderboard?metric=${metric}&period=${period}` })),
  ),
];
for (const part of ['orders', 'ledger', 'points', 'trades', 'positions', 'vaults']) {
  const found: List[] = [];
  for (const [i, userId] of userIds.entries()) {
    const list = {
      path: `/users/u${userId}/${part}`,
      token: await sessions.issue(userId, versions[i]!, nowMs),
    };
    const { json } = await ask(list, 'limit=1');
    if (json.nextCursor !== null) found.push(list);
  }
  expect(found.length, part).toBeGreaterThan(1);
  lists.push(...found.slice(0, 2));
}
/** Places a resting order that never trades. */
function rest({ engine, sequencer }: ReplayExchange, userId: number): void {
  const terms = { timeInForce: TimeInForce.GTC, sizeLots: 500_000, priceTicks: 2 };
  sequencer.submit(buy({ userId, marketId: engine.activeMarket(0), ...terms }));
}

afterAll(async () => {
  await server.close();
  folders.removeAll();
});

test('a cursor works in its own list and is refused by every other', async () => {
  const cursors: string[] = [];
  for (const list of lists) {
    const { status, json } = await ask(list, 'limit=1');
    expect([status, typeof json.nextCursor], list.path).toEqual([200, 'string']);
    cursors.push(json.nextCursor);
  }
  const refused = { code: 'invalid_request', details: { cursor: 'is not a cursor of this list' } };
  for (const [i, cursor] of cursors.entries()) {
    for (const [j, list] of lists.entries()) {
      const { status, json } = await ask(list, `limit=1&cursor=${cursor}`);
      const what = `the cursor of ${lists[i]!.path} in ${list.path}`;
      expect(status, what).toBe(i === j ? 200 : 400);
      if (i !== j) expect(json.error, what).toMatchObject(refused);
    }
  }
});

test('a cursor is only accepted in its original spelling, although base64url can be decoded from several', async () => {
  for (const list of lists) {
    const cursor: string = (await ask(list, 'limit=1')).json.nextCursor;
    for (const spelling of [
      `${cursor}=`,
      `${cursor}%20`,
      `${cursor}%C3%A9`,
      `!${cursor}`,
      `${cursor}.`,
    ]) {
      expect(
        (await ask(list, `limit=1&cursor=${spelling}`)).status,
        `${list.path} ${spelling}`,
      ).toBe(400);
    }
  }
});

test('the test has every list with pages', () => {
  const { paths } = buildDocument(ROUTES, 'any');
  const paged = Object.entries(paths).filter(([, { get }]) =>
    get?.parameters?.some(({ name }) => name === 'cursor'),
  );
  const tried = new Set(lists.map(({ path }) => programContract().templateOf(path)));
  expect([...tried].sort()).toEqual(paged.map(([template]) => template).sort());
});
