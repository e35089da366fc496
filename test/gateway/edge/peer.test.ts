/**
 * The core and a simulated edge, over the address for replicas: a correct edge is served; a wrong
 * or hostile one gets nothing and changes nothing.
 */
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import type { Command } from '../../../engine/interface/commands.js';
import { RecordBuffer } from '../../../engine/interface/records.js';
import { ResultHead } from '../../../engine/interface/results.js';
import {
  EDGES_PATH,
  FrameCollector,
  FrameReader,
  FrameWriter,
  readFrames,
  ToCore,
  ToEdge,
} from '../../../gateway/edge/link/frames.js';
import { eventually } from '../../support/eventually.js';
import { SEED } from '../../support/extent.js';
import { type ChildServer, Exchanges } from '../../support/programs.js';
import { type ApiClient, PASSWORD, type Trader } from '../../support/server.js';
import { Random } from '../../support/workload/random.js';

const KEY = randomBytes(32).toString('hex');
const ADDRESS = new Uint8Array(16).fill(1);
/** Number of results that do not fit one block. */
const TOGETHER = 2_000;
const exchanges = new Exchanges({ HOUSE: 'off' });

let edge: Edge;

/** An edge on another machine. */
class Edge {
  readonly frames: { kind: number; own: number; id: number; rest: Uint8Array }[] = [];
  isOpen = false;
  closeCode = 0;
  readonly writer = new FrameWriter();
  private readonly socket: WebSocket;
  private readonly collector: FrameCollector;

  constructor(key = KEY, path = EDGES_PATH) {
    this.socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, {
      headers: { authorization: `Bearer ${key}` },
    });
    this.collector = new FrameCollector((message) => this.socket.send(message));
    const reader = new FrameReader();
    this.socket.on('error', () => {});
    this.socket.on('open', () => (this.isOpen = true));
    this.socket.on('close', (code) => (this.closeCode = code));
    this.socket.on('message', (message: Buffer) =>
      readFrames(message, reader, (frame) => {
        const { kind, own, id } = frame;
        this.frames.push({ kind, own, id, rest: frame.rest().slice() });
      }),
    );
  }

  send(body?: Uint8Array): void {
    this.collector.send(this.writer, body);
  }

  sendMessage(message: Uint8Array): void {
    this.socket.send(message);
  }

  async answer(id: number) {
    await eventually(() => this.frames.some((frame) => frame.id === id));
    return this.frames.find((frame) => frame.id === id)!;
  }

  /** The core's number for the session. */
  async sessionOf({ token, userId }: Trader, id: number): Promise<number> {
    this.writer.begin(ToCore.request, id).content(ADDRESS);
    this.writer.text('GET /users/:id/balance').text('get').text('');
    this.writer.texts([userId]).texts(['x-user-token', token]);
    this.send();
    const { kind, own, rest } = await this.answer(id);
    expect([kind, own]).toEqual([ToEdge.answer, 200]);
    return Buffer.from(rest).readUInt32LE(8 + 4);
  }

  sendCommand(id: number, session: number, record: Uint8Array): void {
    this.writer.begin(ToCore.command, id).integer(session).content(ADDRESS);
    this.send(record);
  }

  leave(): void {
    this.socket.terminate();
  }
}

let server: ChildServer;
let api: ApiClient;
let port: number;
let ada: Trader;
let bob: Trader;
beforeAll(async () => {
  const keyFile = join(exchanges.work, 'key');
  writeFileSync(keyFile, `${KEY}\n`, { mode: 0o600 });
  server = exchanges.spawn({ REPLICAS_PORT: '0', REPLICAS_KEY_FILE: keyFile });
  api = await exchanges.listening(server);
  const listening = () => /"port":(\d+),"msg":"open to replicas"/.exec(server.stderr)?.[1];
  await eventually(() => listening() !== undefined);
  port = Number(listening());
  ada = await register('ada');
  bob = await register('bob');
});
beforeEach(async () => {
  edge = new Edge();
  await eventually(() => edge.isOpen);
});
afterEach(() => edge.leave());
afterAll(() => exchanges.end());

async function register(username: string): Promise<Trader> {
  const { json } = await api.post('/auth/register', { username, password: PASSWORD });
  return { username, userId: json.userId, token: json.token };
}

/** The number of executed commands of {@link cancel}'s kind. */
async function executed(): Promise<number> {
  const { text } = await api.get('/metrics');
  const counts = text.matchAll(/^exchange_commands_total\{kind="cancel",\S+ (\d+)$/gm);
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}

function recordOf(command: Command): Uint8Array {
  const records = new RecordBuffer();
  records.append(command, 0);
  return records.bytes.slice(0, records.byteLength);
}

function cancel({ userId: id }: Trader): Uint8Array {
  const userId = Number(id.slice(1));
  return recordOf({ kind: 'cancel', userId, idempotencyKey: null, marketId: 0, orderId: 1 });
}

function cancelEverywhere({ userId: id }: Trader): Uint8Array {
  const userId = Number(id.slice(1));
  return recordOf({ kind: 'cancelEverywhere', userId, idempotencyKey: null });
}

test('a command of a session that the core has named is executed, and answered in numbers', async () => {
  const session = await edge.sessionOf(ada, 1);
  edge.sendCommand(2, session, cancel(ada));
  const { kind, rest } = await edge.answer(2);
  expect(kind).toBe(ToEdge.result);
  const values = new Float64Array(rest.buffer);
  const { json } = await api.get('/time');
  expect(values[ResultHead.sequence]).toBeGreaterThan(0);
  expect(values[ResultHead.sequence]).toBeLessThanOrEqual(json.sequence);
});

test('commands that come together are executed and answered in their order', async () => {
  const session = await edge.sessionOf(ada, 1);
  const ids = Array.from({ length: TOGETHER }, (_, i) => 2 + i);
  for (const id of ids) edge.sendCommand(id, session, cancel(ada));
  await edge.answer(ids.at(-1)!);
  const results = edge.frames.filter(({ kind }) => kind === ToEdge.result);
  expect(results.map(({ id }) => id)).toEqual(ids);
  const sequences = results.map(({ rest }) => new Float64Array(rest.buffer)[ResultHead.sequence]!);
  expect(sequences).toEqual([...sequences].sort((a, b) => a - b));
  expect(new Set(sequences).size).toBe(TOGETHER);
});

test('a number that the core has not given is none of its sessions', async () => {
  edge.sendCommand(1, 1_000, cancel(ada));
  expect((await edge.answer(1)).kind).toBe(ToEdge.unknownSession);
});

test('a session that has ended is refused, though it has a number', async () => {
  const eve = await register('eve');
  const session = await edge.sessionOf(eve, 1);
  const body = { currentPassword: 'correct horse battery', newPassword: 'another horse battery' };
  expect((await api.put('/auth/password', body, eve.token)).status).toBe(200);
  edge.sendCommand(2, session, cancel(eve));
  const { kind, own } = await edge.answer(2);
  expect([kind, own]).toEqual([ToEdge.answer, 401]);
});

test.each([
  ['of another user', () => cancel(bob)],
  ['that no client may send', () => recordOf({ kind: 'advanceTime' })],
  ['that no route takes', () => cancelEverywhere(ada)],
  ['that is cut off', () => cancel(ada).slice(0, 16)],
  ['that is no whole number of words', () => cancel(ada).slice(0, 15)],
  ['with something behind it', () => Buffer.concat([cancel(ada), new Uint8Array(8)])],
  ['of zeros', () => new Uint8Array(24)],
])('a record %s ends the connection, and executes nothing', async (_name, record) => {
  const session = await edge.sessionOf(ada, 1);
  const before = await executed();
  edge.sendCommand(2, session, record());
  await eventually(() => edge.closeCode !== 0);
  expect(edge.closeCode).toBe(1002);
  expect(await executed()).toBe(before);
  expect((await api.get('/health')).status).toBe(200);
});

test('an order of a replica’s stream is a record of its user, answered in numbers', async () => {
  const order = (number: number, { token }: Trader, record: Uint8Array) => {
    edge.writer.begin(ToCore.streamJoined, 7).text(token);
    edge.writer.content(ADDRESS);
    edge.send();
    edge.writer.begin(ToCore.streamCommand, 7).integer(number);
    edge.send(record);
  };
  order(1, ada, cancel(ada));
  const isResult = ({ kind }: { kind: number }) => kind === ToEdge.streamResult;
  await eventually(() => edge.frames.some(isResult));
  const { id, rest } = edge.frames.find(isResult)!;
  const values = new Float64Array(rest.slice(4).buffer);
  expect([id, Buffer.from(rest).readUInt32LE()]).toEqual([7, 1]);
  expect(values[ResultHead.sequence]).toBeGreaterThan(0);
  const before = await executed();
  order(2, ada, cancel(bob));
  await eventually(() => edge.closeCode !== 0);
  expect([edge.closeCode, await executed()]).toEqual([1002, before]);
});

test('frames that are cut off, changed or of no kind end the connection or say nothing', async () => {
  const random = new Random(SEED);
  const session = await edge.sessionOf(ada, 1);
  edge.leave();
  for (let i = 0; i < 60; i++) {
    const hostile = new Edge();
    await eventually(() => hostile.isOpen);
    const { writer } = hostile;
    writer.begin(ToCore.command, i).integer(session).content(ADDRESS);
    const record = cancel(ada);
    const message = Buffer.concat([
      Buffer.alloc(4),
      writer.bytes.subarray(0, writer.length),
      record,
    ]);
    message.writeUInt32LE(message.length - 4);
    for (let changes = random.whole(1, 4); changes > 0; changes--)
      message[random.whole(0, message.length - 1)] = random.whole(0, 255);
    hostile.sendMessage(random.chance(0.3) ? message.subarray(0, random.whole(1, 40)) : message);
    hostile.leave();
  }
  expect((await api.get('/health')).status).toBe(200);
  expect(server.child.exitCode).toBeNull();
});

test('a wrong key, and another version, are refused', async () => {
  for (const refused of [new Edge('wrong'.repeat(8)), new Edge(KEY, '/replicas/1')]) {
    await eventually(() => refused.closeCode !== 0);
    expect(refused.isOpen).toBe(false);
  }
});
