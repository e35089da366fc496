/** Statements, orders and filters over HTTP: bytes, pages, filters, CSV and refusals. */
import { readFileSync } from 'node:fs';
import { parse } from 'csv-parse/sync';
import { afterAll, describe, expect, test } from 'vitest';
import { fileName } from '../../../../gateway/site/app/account/statement-csv.js';
import {
  type Answer,
  MARKET,
  PARTNER_KEY,
  PARTNER_KEYS,
  TestServer,
  type Trader,
  WINDOW_MS,
  WINDOW_START_MS,
} from '../../../support/server.js';

const read = (path: string, token = ada.token) => server.api.read(path, token);
const ledger = (query = '') => read(`/users/${ada.userId}/ledger${query}`);
const orders = (query = '') => read(`/users/${ada.userId}/orders${query}`);

const server = await TestServer.withMarket({ partnerKeys: PARTNER_KEYS });
const ada = await server.register('ada');
const bob = await server.register('bob');
const { api } = server;
const post = (trader: Trader, side: string, body: object) =>
  api.post(`/markets/15m/${MARKET}/${side}`, body, trader.token);
const utc = (atMs: unknown) =>
  atMs === null ? '' : new Date(Number(atMs)).toISOString().slice(0, 19).replace('T', ' ');
const limit = { outcome: 'UP', timeInForce: 'GTC' };
await post(bob, 'buy', { ...limit, outcome: 'DOWN', shares: 30, price: 0.5 });
await post(ada, 'buy', { outcome: 'UP', amount: 5 });
await post(ada, 'buy', { ...limit, shares: 40, price: 0.5 });
await post(ada, 'buy', { ...limit, shares: 10, price: 0.25 });
await post(ada, 'sell', { ...limit, shares: 4, price: 0.75 });
await api.delete(`/markets/15m/${MARKET}/orders/o4`, ada.token);
await api.post('/vaults/flex/stake', { amount: 100 }, ada.token);
const eve = await server.register('eve');
const split = { op: 'split', marketId: MARKET, shares: 20 };
await api.post('/batch', { operations: [split, split] }, eve.token);
afterAll(() => server.stop());

describe('the statement', () => {
  test('adds up to the balance, newest first', async () => {
    const { json } = await ledger('?limit=200');
    const balance = await server.api.get(`/users/${ada.userId}/balance`, ada.token);
    expect(json.entries[0].balance).toEqual({
      available: balance.json.available,
      held: balance.json.held,
    });
    const sum = (name: 'available' | 'held') =>
      Math.round(
        json.entries.reduce((all: number, entry: Record<string, number>) => all + entry[name]!, 0) *
          1e6,
      ) / 1e6;
    expect([sum('available'), sum('held')]).toEqual([balance.json.available, balance.json.held]);
    expect(json.entries.map(({ cause }: { cause: string }) => cause)).toEqual([
      'stake',
      'release',
      'hold',
      'hold',
      'fee',
      'fill',
      'fee',
      'fill',
      'grant',
    ]);
    expect(json.entries.at(-2)).toMatchObject({
      cause: 'fill',
      marketId: MARKET,
      orderId: 'o2',
      tradeId: 't1',
      depositId: null,
      available: -5,
      held: 0,
      shares: { outcome: 'UP', change: 10 },
      balance: { available: 9_995, held: 0 },
    });
    expect(json.nextCursor).toBe(null);
  });

  test('is paged, and filtered by cause, market and time', async () => {
    const all = (await ledger()).json.entries;
    const first = await ledger('?limit=4');
    expect(first.json.entries).toEqual(all.slice(0, 4));
    const second = await ledger(`?limit=4&cursor=${first.json.nextCursor}`);
    expect(second.json.entries).toEqual(all.slice(4, 8));
    for (const cause of ['fill', 'hold', 'stake', 'claim']) {
      const { json } = await ledger(`?cause=${cause}`);
      expect(json.entries).toEqual(all.filter((entry: { cause: string }) => entry.cause === cause));
    }
    const { json } = await ledger(`?marketId=${MARKET}`);
    expect(json.entries).toHaveLength(7);
    expect((await ledger(`?toMs=${all.at(-1).atMs - 1}`)).json.entries).toEqual([]);
    expect((await ledger(`?fromMs=100000000000&toMs=${all[0].atMs}`)).json.entries).toEqual(all);
  });

  // biome-ignore lint/suspicious/noExplicitAny: tests read answers field by field
  const startOf = ({ entryId, eventId, sequence, atMs }: any) =>
    [entryId, eventId, sequence, atMs, utc(atMs)].join(',');

  test('is CSV for a client that prefers it', async () => {
    const path = `/users/${ada.userId}/ledger?limit=2`;
    const options = { token: ada.token, headers: { accept: 'text/csv' } };
    const { json } = await ledger('?limit=2');
    const answer = await server.api.send('GET', path, undefined, options);
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toBe('text/csv; charset=utf-8; header=present');
    expect(answer.headers['vary']).toContain('Accept');
    const [stake, release] = json.entries;
    expect(answer.text).toBe(
      'entryId,eventId,sequence,atMs,atUtc,cause,marketId,orderId,tradeId,depositId,counterparty,reference,currency,available,held,outcome,shares,balanceAvailable,balanceHeld\r\n' +
        `${startOf(stake)},stake,,,,d1,,,USD,-100,0,,,${stake.balance.available},10\r\n` +
        `${startOf(release)},release,${MARKET},o4,,,,,USD,2.5,-2.5,,,${release.balance.available},10\r\n`,
    );
    const next = /^<\/api(.*)>; rel="next"$/.exec(`${answer.headers['link']}`)![1]!;
    const rest = await server.api.send('GET', next, undefined, options);
    expect(rest.text.split('\r\n')[1]).toContain(',hold,');
    for (const accept of ['application/json, text/csv;q=0.5', '*/*', 'text/csv;q=0']) {
      const other = await server.api.send('GET', path, undefined, {
        ...options,
        headers: { accept },
      });
      expect(other.json.entries).toEqual(json.entries);
    }
  });

  test.each(['orders', 'orders?status=all&limit=2', 'trades?limit=2'])(
    'so is /%s',
    async (list) => {
      const path = `/users/${ada.userId}/${list}`;
      const headers = { accept: 'text/csv' };
      const read = (from: string) =>
        server.api.send('GET', from, undefined, { token: ada.token, headers });
      const { json } = await server.api.get(path, ada.token);
      const entries = json.orders ?? json.trades;
      expect(entries.length).toBeGreaterThan(0);
      const { text, headers: got } = await read(path);
      const [head, ...lines] = text.trimEnd().split('\r\n');
      const cells = (entry: object, of: (name: string, value: unknown) => unknown[]) =>
        Object.entries(entry).flatMap(([name, value]) => of(name, value));
      const isTime = (name: string) => name.endsWith('tMs');
      const names = cells(entries[0], (name) =>
        isTime(name) ? [name, name.replace('Ms', 'Utc')] : [name],
      );
      expect(head).toBe([...names, 'currency'].join(','));
      const rows = entries.map((entry: object) =>
        cells(entry, (name, value) => (isTime(name) ? [value, utc(value)] : [value])),
      );
      expect(lines).toEqual(rows.map((row: unknown[]) => [...row, 'USD'].join(',')));
      if (json.nextCursor === null) return;
      const next = /^<\/api(.*)>; rel="next"$/.exec(`${got['link']}`)![1]!;
      expect((await read(next)).text.split('\r\n')[1]).not.toBe(lines[0]);
    },
  );

  test('is refused to others, and with bad filters and cursors', async () => {
    const path = `/users/${ada.userId}/ledger`;
    expect((await server.api.get(path)).json.error.code).toBe('missing_token');
    expect((await server.api.get(path, bob.token)).json.error.code).toBe('user_mismatch');
    const refused = async (
      query: string,
      field: string,
      list: (query: string) => Promise<Answer> = ledger,
    ) => {
      const answer = await list(query);
      expect([query, answer.status, Object.keys(answer.json.error.details)]).toEqual([
        query,
        400,
        [field],
      ]);
    };
    await refused('?cause=bonus', 'cause');
    for (const list of [
      ledger,
      orders,
      (query: string) => read(`/users/${ada.userId}/trades${query}`),
    ]) {
      await refused('?fromMs=yesterday', 'fromMs', list);
      await refused(`?fromMs=${WINDOW_START_MS}&toMs=${WINDOW_START_MS - 1}`, 'fromMs', list);
      await refused('?toMs=99999999999999999', 'toMs', list);
      await refused('?cursor=nonsense', 'cursor', list);
      await refused('?since=1', 'since', list);
    }
    const { json } = await ledger('?limit=1');
    await refused(`?limit=1&cause=fill&cursor=${json.nextCursor}`, 'cursor');
  });
});

describe('the orders', () => {
  test('are open, closed or all', async () => {
    const ids = async (query: string) =>
      (await orders(query)).json.orders.map(({ orderId }: { orderId: string }) => orderId);
    expect(await ids('')).toEqual(['o3', 'o5']);
    expect(await ids('?status=open')).toEqual(['o5', 'o3']);
    expect(await ids('?status=closed')).toEqual(['o4', 'o2']);
    expect(await ids('?status=all')).toEqual(['o5', 'o4', 'o3', 'o2']);
    expect(await ids(`?marketId=${MARKET}`)).toEqual(['o5', 'o3']);
    expect(await ids('?status=all&toMs=100000000000')).toEqual([]);
    const { json } = await orders('?status=all&limit=3');
    expect(await ids(`?status=all&limit=3&cursor=${json.nextCursor}`)).toEqual(['o2']);
    const other = await orders(`?status=closed&limit=3&cursor=${json.nextCursor}`);
    expect(other.json.error.details).toEqual({ cursor: 'is not a cursor of this list' });
    expect((await orders('?status=gone')).status).toBe(400);
  });

  test('are not found for others, nor by other ids', async () => {
    const path = `/users/${ada.userId}/orders`;
    for (const id of ['o1', 'o99', 'x', 'o0'])
      expect((await orders(`/${id}`)).json.error.code).toBe('order_not_found');
    expect((await server.api.get(`${path}/o2`)).status).toBe(401);
    expect((await server.api.get(`${path}/o2`, bob.token)).json.error.code).toBe('user_mismatch');
    expect((await server.api.get(`${path}?status=all`, bob.token)).status).toBe(403);
  });
});

test('trades take filters', async () => {
  const trades = (query: string) => read(`/users/${ada.userId}/trades${query}`);
  const { json } = await trades('');
  expect(json.trades).toHaveLength(2);
  expect((await trades(`?marketId=${MARKET}`)).json.trades).toEqual(json.trades);
  expect((await trades('?marketId=btc-15m-1763701200')).json.trades).toEqual([]);
  expect((await trades(`?fromMs=${json.trades[0].atMs + 1}`)).json.trades).toEqual([]);
  const first = await trades(`?limit=1&marketId=${MARKET}`);
  expect(
    (await trades(`?limit=1&marketId=${MARKET}&cursor=${first.json.nextCursor}`)).json.trades,
  ).toEqual([json.trades[1]]);
});

test('after the end, orders are closed and shares are claimed', async () => {
  await server.passTime(WINDOW_START_MS + WINDOW_MS + 2_000, 101_250.5);
  await server.api.post(`/markets/15m/${MARKET}/claim`, {}, ada.token);
  expect((await orders('/o3')).json).toMatchObject({ status: 'cancelled', reason: 'market_ended' });
  expect((await orders('?status=open')).json.orders).toEqual([]);
  const { json } = await ledger('?cause=claim');
  expect(json.entries).toMatchObject([
    { marketId: MARKET, available: 30, held: 0, shares: { outcome: 'UP', change: -30 } },
  ]);
  const lost = await read(`/users/${bob.userId}/ledger?cause=claim`, bob.token);
  expect(lost.json.entries).toMatchObject([
    { available: 0, shares: { outcome: 'DOWN', change: -30 } },
  ]);
});

const TEMPLATES = {
  Koinly: ['Koinly Date', 'Amount', 'Currency', 'Description', 'TxHash'],
  rotki: [
    'Type',
    'Location',
    'Currency',
    'Amount',
    'Fee',
    'Fee Currency',
    'Description',
    'Timestamp',
  ],
};

describe('a statement for accountants', () => {
  const csv = async (trader: Trader) => {
    const options = { token: trader.token, headers: { accept: 'text/csv' } };
    const path = `/users/${trader.userId}/ledger?limit=200`;
    const { text } = await server.api.send('GET', path, undefined, options);
    return parse(text, { columns: true, record_delimiter: '\r\n' }) as Record<string, string>[];
  };

  test('tells two equal splits in one batch apart, and ties each fee to its split', async () => {
    const rows = (await csv(eve)).filter(({ cause }) => cause === 'split' || cause === 'fee');
    expect(rows).toHaveLength(6);
    expect(new Set(rows.map(({ entryId }) => entryId)).size).toBe(6);
    const events = [...new Set(rows.map(({ eventId }) => eventId))];
    expect(events).toHaveLength(2);
    for (const event of events) {
      const causes = rows.filter(({ eventId }) => eventId === event).map(({ cause }) => cause);
      expect(causes.sort()).toEqual(['fee', 'split', 'split']);
    }
  });

  test('ties the fee of an order to it, and names who a transfer was with', async () => {
    const fee = (await csv(ada)).find(({ cause }) => cause === 'fee')!;
    expect(fee['orderId']).toMatch(/^o\d+$/);
    const partner = await server.registerByPartner('pat');
    const sub = await api.post(
      `/users/${partner.userId}/sub-accounts`,
      { username: 'pat-sub' },
      partner.token,
    );
    const body = { userId: partner.userId, amount: 50, reference: 'wire-7' };
    const options = { headers: { authorization: `Bearer ${PARTNER_KEY}` } };
    expect((await api.send('POST', '/partner/deposits', body, options)).status).toBe(200);
    const moved = { from: partner.userId, to: sub.json.userId, amount: 5 };
    const path = `/users/${partner.userId}/transfers`;
    expect((await api.post(path, moved, partner.token)).status).toBe(201);
    const rows = await csv(partner);
    const of = (cause: string) => rows.find((row) => row['cause'] === cause)!;
    expect(of('deposit')).toMatchObject({ counterparty: 'acme', reference: 'wire-7' });
    expect(of('transfer_out')).toMatchObject({ counterparty: sub.json.userId, reference: '' });
  });

  test('has the columns of the recipes in API.md', async () => {
    const [row] = await csv(ada);
    const text = readFileSync(new URL('../../../../gateway/API.md', import.meta.url), 'utf8');
    const recipes = /\| program \| its column \| ours \|\n[^\n]*\n((?:\|.*\n)+)/.exec(text)![1]!;
    const named = [...recipes.matchAll(/`(\w+)`/g)].map(([, name]) => name!);
    expect(named.length).toBeGreaterThan(10);
    for (const name of named) expect(Object.keys(row!)).toContain(name);
    // Columns of Koinly's and rotki's own templates, with a value for each.
    const rows = recipes
      .split('\n')
      .map((line) => line.split(' | ').map((cell) => cell.split(', ')));
    for (const [program, columns] of Object.entries(TEMPLATES)) {
      const [, theirs, ours] = rows.find(([name]) => name![0]!.startsWith(`| ${program}`))!;
      expect([theirs, ours!.length], program).toEqual([columns, columns.length]);
    }
    expect(row).toMatchObject({ currency: 'USD', atUtc: utc(row!['atMs']) });
  });

  test('the file that the site saves is named by account, filter and days', () => {
    const [fromMs, toMs] = [new Date(2026, 0, 1).getTime(), new Date(2026, 0, 31).getTime()];
    expect(fileName('u2', { cause: 'fee', fromMs, toMs })).toBe(
      'statement-u2-fee-2026-01-01-to-2026-01-31.csv',
    );
    expect(fileName('u2', {})).toBe('statement-u2.csv');
  });
});
