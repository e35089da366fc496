/**
 * `resume` of the channel `user` from the journal: across restarts and further back than memory,
 * with the messages originally sent, byte for byte.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { TimeInForce } from '../../../engine/interface/domain.js';
import { createLog } from '../../../gateway/observe/log.js';
import { STREAM_LIMITS } from '../../../gateway/stream/limits.js';
import { JournalReplays } from '../../../gateway/stream/resume/journal-replays.js';
import { archiveSegments } from '../../../persistence/tools/operations/archive.js';
import { batch, buy } from '../../support/engine-support.js';
import { eventually } from '../../support/eventually.js';
import { TestServer, type Trader } from '../../support/server.js';
import { Random } from '../../support/workload/random.js';
import { randomCommand, type Trading } from './commands.js';
import { clientsOf, type StreamClient, streamLimits } from './support.js';

let server: TestServer;
const { connectAs } = clientsOf(() => server);
afterEach(() => server.stop());

const LIMITS = { operationsBurst: 10_000 };
const REST = { outcome: 'UP', shares: 10, price: 0.4, timeInForce: 'GTC' };

async function traders(): Promise<Trader[]> {
  return [await server.register('ada'), await server.register('bob'), await server.register('cyn')];
}

function trading(seed: string): Trading {
  const { engine } = server.exchange.sequencer;
  const marketId = engine.activeMarket(0);
  return { engine, marketId, users: 3, random: new Random(seed) };
}

async function trade(on: Trading, commands: number): Promise<void> {
  for (let i = 0; i < commands; i++) server.submit(randomCommand(on));
  await server.durable();
}

/** The texts of the `user` messages that a client receives. */
function textsOf(client: StreamClient): string[] {
  const texts: string[] = [];
  client.socket.on('message', (data) => {
    const text = data.toString();
    if (/^\{"type":"delta",[^{]*"channel":"user"/.test(text)) texts.push(text);
  });
  return texts;
}

async function restarted(limits: object = {}): Promise<void> {
  await server.close();
  server = await TestServer.start(
    streamLimits({ ...LIMITS, ...limits }),
    server.folder,
    server.clock.nowMs(),
  );
}

test('the messages of a restarted exchange are the same, to the byte, in pages, and others follow', async () => {
  server = await TestServer.withMarket(streamLimits(LIMITS));
  const [ada] = await traders();
  const client = await connectAs(ada!);
  const [snapshot] = await client.subscribe('user');
  const live = textsOf(client);
  const first = trading('first');
  for (let i = 0; i < 5; i++) await trade(first, 500);
  await client.caughtUp();
  expect(live.join('').length).toBeGreaterThan(600_000);
  const middle = JSON.parse(live[live.length >> 1]!).channelSequence;

  await restarted();
  const again = await connectAs(ada!);
  const replayed = textsOf(again);
  again.send({ op: 'resume', id: 'r', channel: 'user', afterSequence: snapshot.channelSequence });
  expect(await again.next('resumed')).toMatchObject({ id: 'r', after: snapshot.channelSequence });
  await again.next('replayed');
  expect(withoutPrevious(replayed)).toEqual(withoutPrevious(live));

  // Another client resumes from the middle, during trading.
  const third = await connectAs(ada!);
  const rest = textsOf(third);
  third.send({ op: 'resume', channel: 'user', after: middle });
  const more = trading('second');
  await trade(more, 50);
  await third.next('resumed');
  await trade(more, 50);
  await third.next('replayed');
  await third.caughtUp();
  await again.caughtUp();
  expect(rest.length).toBeGreaterThan(0);
  expect(withoutPrevious(rest)).toEqual(
    withoutPrevious(replayed.filter((text) => JSON.parse(text).channelSequence > middle)),
  );
  expect(rest.at(-1)).toBe(replayed.at(-1));
});

/** Removes `previousSequence`, which may be the previous message's number or a later one. */
const withoutPrevious = (texts: readonly string[]) =>
  texts.map((text) => text.replace(/"previousSequence":\d+,/, ''));

describe('what cannot be given', () => {
  async function afterTrading(limits: object): Promise<{ ada: Trader; first: number }> {
    server = await TestServer.withMarket(streamLimits(LIMITS));
    const [ada] = await traders();
    const first = server.exchange.sequencer.engine.sequence;
    await trade(trading('far'), 300);
    await restarted(limits);
    return { ada: ada!, first };
  }

  test.each([
    ['commands', { replayedCommands: 100 }, 0],
    ['bytes', { replayedBytes: 5_000, replayWindowBytes: 4_000, keptMessages: 1 }, 5],
  ])('because of too many %s ends with a gap and a snapshot', async (_name, limits, least) => {
    const { ada, first } = await afterTrading(limits);
    const client = await connectAs(ada);
    client.send({ op: 'resume', id: 'r', channel: 'user', afterSequence: first });
    expect(await client.next('resumed')).toMatchObject({ id: 'r', after: first });
    const gap = await client.next('gap');
    const snapshot = await client.next('snapshot');
    expect([gap.id, snapshot.id]).toEqual(['r', 'r']);
    const given = client.of('user').filter(({ type }) => type === 'delta');
    expect(given.length).toBeGreaterThanOrEqual(least);
    expect(gap.after).toBe(given.at(-1)?.channelSequence ?? first);
    await server.buy(ada, REST);
    await client.next('delta');
  });

  test('because it is ahead of the exchange is a gap', async () => {
    const { ada } = await afterTrading({});
    const client = await connectAs(ada);
    client.send({ op: 'resume', id: 'r', channel: 'user', afterSequence: 1e9 });
    await client.next('gap');
    expect((await client.next('snapshot')).id).toBe('r');
  });
});

test('what is in an archive is too far back, also beside a resume that is not', async () => {
  server = await TestServer.withMarket({
    ...streamLimits({ ...LIMITS, keptMessages: 5 }),
    segmentBytes: 12_000,
    snapshotEveryCommands: 100,
  });
  const [ada, bob, cyn] = await traders();
  const archive = await mkdtemp(join(tmpdir(), 'archive-'));
  const on = trading('archive');
  await eventually(async () => {
    await trade(on, 100);
    await server.followed();
    return (await archiveSegments({ folder: server.folder, archive })).moved.length > 0;
  });
  const { sequence } = await server.state();
  // The first keeps the thread busy, so one replay answers the others.
  const clients = await Promise.all([cyn!, ada!, bob!].map((trader) => connectAs(trader)));
  const after = [sequence - 20, 0, sequence - 20];
  for (const [i, client] of clients.entries())
    client.send({ op: 'resume', channel: 'user', afterSequence: after[i] });
  const answers = await Promise.all(
    clients.map((client) => client.next(({ type }) => type === 'replayed' || type === 'gap')),
  );
  expect(answers.map(({ type }) => type)).toEqual(['replayed', 'gap', 'replayed']);
  await rm(archive, { recursive: true });
});

test('a node that has not received everything gives nothing, not a part that counts as all', async () => {
  server = await TestServer.withMarket(streamLimits(LIMITS));
  await traders();
  await trade(trading('behind'), 50);
  const { folder } = server;
  const { sequence } = server.exchange.sequencer.engine;
  const replayed = (durable: number) => {
    const { replayedCommands: commandsMax, replayWindowBytes: windowBytes } = STREAM_LIMITS;
    const replays = new JournalReplays({
      ...{ folder, journal: { folder }, commandsMax, windowBytes, elapsedMs: () => 0 },
      durableSequence: () => durable,
      log: createLog('warn', { write: () => {} }),
    });
    const wish = { userId: 1, after: 1, place: 1, key: 1, isNewcomer: false, isOver: () => false };
    return new Promise((done) => replays.read({ ...wish, done }));
  };
  expect(await replayed(sequence)).toMatchObject({ window: { through: sequence } });
  expect(await replayed(sequence + 1)).toBe('failed');
});

test('requests that make no sense are refused', async () => {
  server = await TestServer.withMarket(streamLimits(LIMITS));
  const [ada] = await traders();
  const client = await connectAs(ada!);
  for (const [message, words] of [
    [{ op: 'resume', channel: 'user', after: 1, afterSequence: 1 }, /cannot be combined/],
    [{ op: 'resume', channel: 'markets', afterSequence: 1 }, /only for the channel user/],
    [{ op: 'resume', channel: 'user', afterSequence: -1 }, /must not be negative/],
  ] as const) {
    const error = await client.refusal(message);
    expect(error.code).toBe('invalid_request');
    expect(error.message).toMatch(words);
  }
  // During a resume, the channel cannot be requested again.
  await trade(trading('one'), 20);
  client.send({ op: 'resume', id: '1', channel: 'user', afterSequence: 1 });
  const error = await client.refusal({ op: 'subscribe', id: '2', channels: ['user'] });
  expect(error).toMatchObject({ id: '2', channel: 'user', code: 'unavailable' });
  expect(error.details.retryAfterMs).toBeGreaterThan(0);
  await client.next('replayed');
});

test('answers stay in order, and a pong names no message that comes after it', async () => {
  server = await TestServer.withMarket(streamLimits({ ...LIMITS, replayWindowBytes: 20_000 }));
  const [ada] = await traders();
  const first = server.exchange.sequencer.engine.sequence;
  await trade(trading('order'), 400);
  const client = await connectAs(ada!);
  client.sendTogether([
    { op: 'ping', id: 'before' },
    { op: 'resume', id: 'r', channel: 'user', after: first },
    { op: 'ping', id: 'after' },
    { op: 'subscribe', id: 's', channels: ['markets'] },
  ]);
  await client.next('replayed');
  await client.caughtUp();
  const answers = client.answers.filter(({ id, type }) => id !== undefined && type !== 'replayed');
  expect(answers.map(({ id }) => id)).toEqual(['before', 'r', 'after', 's']);
  const { messages } = client;
  for (const [at, { type, id, sequence }] of messages.entries()) {
    if (type !== 'pong' || id === 'before') continue;
    const later = messages.slice(at).filter(({ channel }) => channel === 'user');
    for (const { channelSequence } of later) expect(channelSequence).toBeGreaterThan(sequence);
  }
});

test('64 connections of one user and one of another are served in turn, each whole', async () => {
  server = await TestServer.withMarket(streamLimits({ ...LIMITS, replayWindowBytes: 20_000 }));
  const [ada, bob] = await traders();
  const first = server.exchange.sequencer.engine.sequence;
  await trade(trading('turns'), 150);
  const message = { op: 'resume', channel: 'user', after: first };
  const many = await Promise.all(Array.from({ length: 64 }, () => connectAs(ada!)));
  const other = await connectAs(bob!);
  for (const client of many) client.send(message);
  other.send(message);
  await other.next('replayed');
  for (const client of many) await client.next('replayed');
  const numbers = many.map((client) => client.of('user').map((each) => each.channelSequence));
  for (const each of numbers) expect(each.length).toBe(numbers[0]!.length);
  expect(await server.api.metric('exchange_stream_replay_bytes')).toBe(0);
});

test.each([0, 1])('is as fast as its reader, with %i edge threads', async (edgeThreads) => {
  const limits = { ...LIMITS, backlogBytes: 512 * 1024, replayedBytes: 64 * 1024 * 1024 };
  server = await TestServer.withMarket({ ...streamLimits(limits), edgeThreads });
  const [ada] = await traders();
  const userId = Number(ada!.userId.slice(1));
  const first = server.exchange.sequencer.engine.sequence;
  const { engine } = server.exchange.sequencer;
  const marketId = engine.activeMarket(0);
  const terms = { userId, marketId, sizeLots: 2, timeInForce: TimeInForce.GTC };
  const operations = Array.from({ length: 100 }, () => buy({ ...terms, priceTicks: 1 }));
  // The messages exceed the operating system's buffers.
  for (let i = 0; i < 300; i++) {
    server.submit(batch(userId, operations));
    server.submit({ kind: 'cancelAll', userId, idempotencyKey: null, marketId });
    if (i % 50 === 0) await server.durable();
  }
  await server.durable();
  const client = await connectAs(ada!);
  client.send({ op: 'resume', channel: 'user', after: first });
  let isDone = false;
  const reading = client.next('replayed').finally(() => (isDone = true));
  while (!isDone) {
    client.socket.pause();
    await new Promise((resolve) => setTimeout(resolve, 20));
    client.socket.resume();
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await reading;
  expect(client.of('user').filter(({ type }) => type === 'delta')).toHaveLength(600);
});

test('a client that leaves, and a stop, end a resume', async () => {
  server = await TestServer.withMarket(streamLimits(LIMITS));
  const [ada, bob] = await traders();
  await trade(trading('leave'), 200);
  const message = { op: 'resume', channel: 'user', afterSequence: 1 };
  const leaving = await connectAs(ada!);
  leaving.send(message);
  await leaving.caughtUp();
  await leaving.hangUp();
  const staying = await connectAs(bob!);
  staying.send(message);
  await staying.next('resumed');
  const stopping = await connectAs(ada!);
  stopping.send(message);
  await stopping.caughtUp();
  await restarted();
  expect((await stopping.closed).code).toBe(1001);
});
