/**
 * Metrics: they count correctly, in Prometheus' text format. Durations are only compared with each
 * other, because they depend on the machine.
 */
import fc from 'fast-check';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { Distribution } from '../../../gateway/observe/distribution.js';
import { eventually } from '../../support/eventually.js';
import { type ApiClient, MARKET, TestServer, type Trader } from '../../support/server.js';

/** Values by name and labels as printed. Throws at a line that Prometheus would not parse. */
function readings(text: string): Map<string, number> {
  const types = new Map<string, string>();
  const values = new Map<string, number>();
  for (const line of text.split('\n')) {
    if (line === '' || /^# HELP [a-z_]+ \S.*$/.test(line)) continue;
    const type = /^# TYPE ([a-z_]+) (counter|gauge|histogram)$/.exec(line);
    if (type !== null) {
      expect(types.has(type[1]!), `${type[1]} twice`).toBe(false);
      types.set(type[1]!, type[2]!);
      continue;
    }
    const sample = /^(([a-z_]+)(?:\{(?:[a-z]+="[^"\\]*",?)*\})?) (\S+)$/.exec(line);
    expect(sample, line).not.toBe(null);
    const [, key, name, value] = sample as unknown as [string, string, string, string];
    const family = name.replace(/_(bucket|sum|count)$/, '');
    expect(types.has(name) || types.get(family) === 'histogram', `${name} has a type`).toBe(true);
    expect(values.has(key), `${key} twice`).toBe(false);
    expect(Number.isFinite(Number(value)), line).toBe(true);
    values.set(key, Number(value));
  }
  return values;
}

describe('distributions', () => {
  const options = { name: 'x_seconds', help: 'X', smallest: 0.016, bounds: 22, scale: 0.001 };

  async function shown(values: readonly number[]): Promise<Map<string, number>> {
    const distribution = new Distribution(options);
    const registry = new Registry();
    distribution.register(registry);
    for (const value of values) distribution.observe(value);
    return readings(await registry.metrics());
  }

  test('count each value in its buckets, and sum them up', async () => {
    const samples = fc.array(fc.double({ min: 0, max: 1e6, noNaN: true }), { maxLength: 50 });
    await fc.assert(
      fc.asyncProperty(samples, async (values) => {
        const text = await shown(values);
        for (let bound = 0; bound < options.bounds; bound++) {
          const ms = options.smallest * 2 ** bound;
          const le = Number((ms / 1_000).toPrecision(6));
          // A value exactly on a bound may be rounded to either side.
          const near = values.filter((value) => Math.abs(value / ms - 1) < 1e-9).length;
          const below = text.get(`x_seconds_bucket{le="${le}"}`)!;
          const expected = values.filter((value) => value <= ms).length;
          expect(Math.abs(below - expected)).toBeLessThanOrEqual(near);
        }
        expect(text.get('x_seconds_bucket{le="+Inf"}')).toBe(values.length);
        expect(text.get('x_seconds_count')).toBe(values.length);
        expect(text.get('x_seconds_sum')).toBeCloseTo(values.reduce((a, b) => a + b, 0) / 1_000);
      }),
    );
  });

  test('have the bounds shown in the text, and values on a bound count below it', async () => {
    const text = await shown([0.016, 0.032, 0.0321, 1e9]);
    expect(text.get('x_seconds_bucket{le="0.000016"}')).toBe(1);
    expect(text.get('x_seconds_bucket{le="0.000032"}')).toBe(2);
    expect(text.get('x_seconds_bucket{le="0.000064"}')).toBe(3);
    expect(text.get('x_seconds_bucket{le="33.5544"}')).toBe(3);
    expect(text.get('x_seconds_bucket{le="+Inf"}')).toBe(4);
  });
});

describe('of an exchange', () => {
  let server: TestServer;
  let api: ApiClient;
  let ada: Trader;
  let bob: Trader;
  beforeAll(async () => {
    server = await TestServer.withMarket();
    api = server.api;
    ada = await server.register('ada');
    bob = await server.register('bob');
  });
  afterAll(() => server.stop());

  const look = async () => readings((await api.get('/metrics')).text);

  /** How much each value has grown. */
  async function growth(work: () => Promise<unknown>): Promise<(key: string) => number> {
    const before = await look();
    await work();
    await server.durable();
    const after = await look();
    return (key) => (after.get(key) ?? 0) - (before.get(key) ?? 0);
  }

  test('have the content type of Prometheus', async () => {
    const { headers } = await api.get('/metrics');
    expect(headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect((await api.send('HEAD', '/metrics')).status).toBe(200);
  });

  test('count commands by kind and result, operations of batches included, and requests by route and status', async () => {
    const order = { outcome: 'UP', shares: 2, price: 0.4, timeInForce: 'GTC' };
    const path = `/markets/15m/${MARKET}/buy`;
    const grown = await growth(async () => {
      for (let i = 0; i < 3; i++) await api.post(path, order, ada.token);
      await api.post(path, { outcome: 'UP', amount: 1 }, bob.token);
      await api.post(path, { outcome: 'UP', amount: -1 }, bob.token);
      const operations = [
        { op: 'buy', marketId: MARKET, outcome: 'DOWN', amount: 0.6 },
        { op: 'cancel', marketId: MARKET, orderId: 'o99' },
        { op: 'cancel', marketId: MARKET, orderId: 'o98' },
      ];
      await api.post('/batch', { operations }, bob.token);
      await api.post('/batch', { operations, atomic: true }, bob.token);
      await api.get('/no/such/route');
    });
    expect(grown('exchange_commands_total{kind="buy",code="ok"}')).toBe(3);
    expect(grown('exchange_commands_total{kind="buy",code="insufficient_liquidity"}')).toBe(1);
    expect(grown('exchange_commands_total{kind="batch",code="ok"}')).toBe(2);
    const operations = 'exchange_batch_operations_total';
    expect(grown(`${operations}{kind="buy",code="ok"}`)).toBe(1);
    expect(grown(`${operations}{kind="buy",code="batch_aborted"}`)).toBe(1);
    expect(grown(`${operations}{kind="cancel",code="order_not_found"}`)).toBe(3);
    expect(grown(`${operations}{kind="cancel",code="batch_aborted"}`)).toBe(1);
    const answers = (route: string, status: number) =>
      grown(`exchange_http_answers_total{method="POST",route="${route}",status="${status}"}`);
    expect(answers('/markets/15m/:marketId/buy', 200)).toBe(3);
    expect(answers('/markets/15m/:marketId/buy', 409)).toBe(1);
    expect(answers('/markets/15m/:marketId/buy', 400)).toBe(1);
    expect(answers('/batch', 200)).toBe(1);
    expect(answers('/batch', 404)).toBe(1);
    expect(grown('exchange_http_answers_total{method="",route="",status="404"}')).toBe(1);

    // Six commands from nine requests, among them the refused body, the unknown route and the first
    // read of the metrics.
    for (const stage of ['receive', 'apply', 'commit'])
      expect(grown(`exchange_${stage}_seconds_count`)).toBe(6);
    expect(grown('exchange_request_seconds_count')).toBe(9);
    const inAll = grown('exchange_request_seconds_sum');
    const parts = ['receive', 'apply', 'commit'].map((stage) =>
      grown(`exchange_${stage}_seconds_sum`),
    );
    expect(Math.min(...parts)).toBeGreaterThan(0);
    expect(parts.reduce((a, b) => a + b, 0)).toBeLessThan(inAll);
    expect(grown('exchange_commit_commands_sum')).toBe(6);
    expect(grown('exchange_commit_commands_count')).toBeGreaterThan(0);
    expect(grown('exchange_sequence')).toBe(6);
  });

  test('show the state of the process and of the exchange', async () => {
    await server.followed();
    const values = await look();
    const { sequencer } = server.exchange;
    expect(values.get('exchange_users')).toBe(2);
    expect(values.get('exchange_limit_used{limit="accounts"}')).toBe(2);
    expect(values.get('exchange_limit_maximum{limit="transfers"}')).toBe(10_000_000);
    expect(values.get('exchange_sequence')).toBe(sequencer.engine.sequence);
    expect(values.get('exchange_durable_sequence')).toBe(sequencer.durableSequence);
    for (const [name, value] of [
      ['exchange_backlog_commands', 0],
      ['exchange_backlog_bytes', 0],
      ['exchange_waiting_answers', 0],
      ['exchange_calls_under_way', 1],
      ['exchange_follower_lag_seconds', 0],
    ] as const) {
      expect(values.get(name), name).toBe(value);
    }
    for (const name of [
      'exchange_connections{kind="http"}',
      'exchange_memory_bytes{kind="rss"}',
      'exchange_memory_bytes{kind="heapUsed"}',
      'exchange_cpu_seconds_total{mode="user"}',
      'exchange_open_descriptors',
      'exchange_disk_used_bytes{part="journal"}',
      'exchange_disk_used_bytes{part="history"}',
    ]) {
      expect(values.get(name), name).toBeGreaterThan(0);
    }
    await eventually(
      async () => (await look()).get('exchange_event_loop_delay_seconds{quantile="0.99"}')! > 0,
    );
  });

  test('count the subscriptions of the stream', async () => {
    const stream = new WebSocket(`${api.url.replace('http', 'ws')}/api/stream`);
    await new Promise((resolve) => stream.on('open', resolve));
    stream.send(
      JSON.stringify({ op: 'subscribe', channels: ['markets', `book:${MARKET}`, 'prices:BTC'] }),
    );
    const subscriptions = async (channel: string) =>
      (await look()).get(`exchange_stream_subscriptions{channel="${channel}"}`);
    await eventually(async () => (await subscriptions('book')) === 1);
    expect(await subscriptions('markets')).toBe(1);
    expect(await subscriptions('prices')).toBe(1);
    expect(await subscriptions('trades')).toBe(0);
    expect((await look()).get('exchange_connections{kind="stream"}')).toBe(1);
    stream.close();
    await eventually(async () => (await subscriptions('book')) === 0);
    expect((await look()).get('exchange_connections{kind="stream"}')).toBe(0);
  });

  test('an asset without a price grows old from the start on, and /ready says so after a minute', async () => {
    const other = await TestServer.start();
    const age = async () =>
      /^exchange_price_age_seconds\{asset="BTC",source="(.*)"} (.+)$/m
        .exec((await other.api.get('/metrics')).text)
        ?.slice(1);
    const ready = async () => (await other.api.get('/ready')).json;
    expect(await ready()).toEqual({ status: 'ready' });
    other.clock.set(other.clock.nowMs() + 60_000);
    expect(await age()).toEqual(['', '60']);
    expect((await ready()).warning).toBe('there have been no prices of BTC, ETH since the start');
    for (const symbol of ['BTC', 'ETH']) other.feed.deliver(symbol, 1_000);
    expect(await ready()).toEqual({ status: 'ready' });
    await other.stop();
  });
});
