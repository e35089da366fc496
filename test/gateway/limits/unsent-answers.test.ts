/**
 * Answers that clients do not read: how much memory they take, and for how long. Tested on a plain
 * uWebSockets.js server whose answer exceeds the operating system's send buffer, and on the built
 * program, whose memory is measured.
 */
import * as uWS from 'uWebSockets.js';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { addressKey } from '../../../gateway/access/fair-use/addresses.js';
import { writeAndClose } from '../../../gateway/http/answers/closing-answer.js';
import {
  UnsentAnswers,
  type UnsentLimits,
  WAITING_BYTES,
} from '../../../gateway/http/answers/unsent-answers.js';
import { AsciiWriter } from '../../../gateway/json/ascii-writer.js';
import { textBuffers } from '../../../gateway/json/text-buffers.js';
import { eventually } from '../../support/eventually.js';
import { ChildServer } from '../../support/programs.js';
import { RawConnection, requestText } from '../../support/raw-connection.js';
import { type ApiClient, AT_EDGES, only, rates, TestServer } from '../../support/server.js';

const MIB = 2 ** 20;
/** The largest file. */
const SCRIPT = '/docs/swagger-ui-bundle.js';

/** Files are not routes, so the other client cannot check them. */
async function fetched(api: ApiClient, path: string, headers: Record<string, string> = {}) {
  const answer = await request(`${api.url}/api${path}`, { headers });
  return { status: answer.statusCode, headers: answer.headers, text: await answer.body.text() };
}

/** A client that does not read before `read`. */
class Silent {
  received = 0;
  isClosed = false;
  private readonly chunks: Buffer[] = [];
  private readonly socket: Socket;

  constructor(port: number, localAddress = '127.0.0.1') {
    this.socket = connect({ host: '127.0.0.1', port, localAddress });
    this.socket.pause();
    this.socket.on('error', () => {});
    this.socket.on('data', (chunk: Buffer) => {
      this.chunks.push(chunk);
      this.received += chunk.length;
    });
    this.socket.on('close', () => {
      this.isClosed = true;
    });
  }

  send(text: string): void {
    this.socket.write(text);
  }

  /** Sends a byte, because a close by the other side only shows on a write. */
  probe(): void {
    if (!this.isClosed) this.socket.write('x');
  }

  read(): void {
    this.socket.resume();
  }

  /** The received answer without its head. */
  body(): Buffer {
    const all = Buffer.concat(this.chunks);
    return all.subarray(all.indexOf('\r\n\r\n') + 4);
  }

  leave(): void {
    this.socket.destroy();
  }
}

describe('what is kept', () => {
  const BODY = Buffer.alloc(24 * MIB, 'a body larger than any send buffer. ');
  const WAITING = BODY.byteLength + WAITING_BYTES;
  let unsent: UnsentAnswers;
  let nowMs: number;
  /** Time that passes per reading of the clock. */
  let lookMs: number;
  let app: uWS.TemplatedApp;
  let port: number;
  let clients: Silent[];

  beforeEach(() => {
    nowMs = 0;
    lookMs = 0;
    clients = [];
  });
  afterEach(() => {
    for (const client of clients) client.leave();
    app.close();
  });

  async function serve(limits: Partial<UnsentLimits>): Promise<void> {
    unsent = new UnsentAnswers(
      { bytes: 1e12, bytesPerAddress: 1e12, ms: 60_000, ...limits },
      () => (nowMs += lookMs),
    );
    app = uWS.App();
    const at = (path: string, send: (response: uWS.HttpResponse) => void) => {
      app.get(path, (response) => void response.cork(() => send(response)));
    };
    const recipient = (response: uWS.HttpResponse) => ({
      address: addressKey(response.getRemoteAddress()),
    });
    at('/own', (response) => unsent.send(response, BODY, recipient(response)));
    at('/text', (response) => unsent.send(response, BODY.toString(), recipient(response)));
    at('/shared', (response) => unsent.sendShared(response, BODY, recipient(response)));
    at('/last', (response) => writeAndClose(response, BODY));
    at('/small', (response) => unsent.send(response, 'small', recipient(response)));
    port = await new Promise((resolve) => {
      app.listen('127.0.0.1', 0, (socket) => resolve(uWS.us_socket_local_port(socket as never)));
    });
  }

  /** Resolves when the operating system accepts no more of the answer. */
  async function ask(path: string, localAddress?: string): Promise<Silent> {
    const { bytes } = unsent;
    const drops = sum(unsent.dropCounts);
    const client = new Silent(port, localAddress);
    clients.push(client);
    client.send(`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`);
    await eventually(() => unsent.bytes !== bytes || sum(unsent.dropCounts) > drops);
    return client;
  }

  const sum = (counts: Readonly<Record<string, number>>) =>
    Object.values(counts).reduce((a, b) => a + b, 0);

  test.each(['/own', '/text', '/shared'])('%s: a late reader gets all of it', async (path) => {
    await serve({});
    const client = await ask(path);
    expect(unsent.bytes).toBe(path === '/shared' ? WAITING_BYTES : WAITING);
    client.read();
    await eventually(() => client.received > BODY.byteLength);
    await eventually(() => unsent.count === 0);
    expect(client.body().equals(BODY)).toBe(true);
    expect([unsent.bytes, sum(unsent.dropCounts)]).toEqual([0, 0]);
    // The connection then serves the next request.
    const { received } = client;
    client.send('GET /small HTTP/1.1\r\nhost: x\r\n\r\n');
    await eventually(() => client.received > received);
    expect(client.body().toString('latin1').endsWith('small')).toBe(true);
  });

  test('long answers that are written in later turns are complete, and their memory is used again', async () => {
    const COUNT = 40;
    const MAY_WAIT = 20;
    const IN_A_TURN = 8;
    lookMs = 1 / IN_A_TURN;
    await serve({ bytes: 2 * MIB, bytesPerAddress: MIB });
    const out = new AsciiWriter();
    const asked: { response: uWS.HttpResponse; name: string }[] = [];
    const memory = new Set<ArrayBufferLike>();
    // Sends more than one turn writes and than may be unread, while the writer is reused.
    const answerAll = () => {
      const answered = asked.splice(0);
      for (const { response, name } of answered) {
        out.clear();
        while (out.byteLength < 100_000) out.text(`${name} `);
        const answer = out.handOver();
        memory.add(answer.buffer);
        const recipient = { address: addressKey(response.getRemoteAddress()) };
        response.cork(() => unsent.send(response, answer, recipient));
      }
      // Answers beyond the limit are written immediately.
      const first = answered.slice(0, MAY_WAIT);
      const begun = first.filter(({ response }) => response.getWriteOffset() > 0);
      expect(begun.length).toBe(IN_A_TURN);
    };
    app.get('/long/:name', (response, request) => {
      response.onAborted(() => {});
      if (asked.push({ response, name: request.getParameter(0)! }) === COUNT) answerAll();
    });
    const client = new Agent({ connections: COUNT });
    const ask = async (name: string) => {
      const { body } = await client.request({
        origin: `http://127.0.0.1:${port}`,
        path: `/long/${name}`,
        method: 'GET',
      });
      return body.text();
    };
    for (let round = 0; round < 5; round++) {
      const names = Array.from({ length: COUNT }, (_, i) => `${round}-${i}`);
      const texts = await Promise.all(names.map(ask));
      for (const [i, text] of texts.entries()) {
        expect(new Set(text.trimEnd().split(' '))).toEqual(new Set([names[i]]));
        expect(text.length).toBeGreaterThanOrEqual(100_000);
      }
    }
    await client.close();
    expect([unsent.count, unsent.bytes, sum(unsent.dropCounts)]).toEqual([0, 0, 0]);
    // The buffers of the first round, and the writer's.
    expect(memory.size).toBeLessThanOrEqual(COUNT + 2);
  });

  test('a buffer that is given back twice, or is not one of them, is not lent twice', () => {
    const out = new AsciiWriter();
    const write = (word: string) => {
      out.clear();
      while (out.byteLength < 20_000) out.text(word);
      return out.handOver();
    };
    write('first');
    const text = write('second');
    textBuffers.give(text);
    textBuffers.give(text);
    textBuffers.give(BODY);
    const later = Array.from({ length: 4 }, (_, i) => write(`text ${i} `));
    expect(new Set(later.map(({ buffer }) => buffer)).size).toBe(4);
    for (const [i, bytes] of later.entries())
      expect(Buffer.from(bytes).toString('latin1').replaceAll(`text ${i} `, '')).toBe('');
  });

  test('the last answer of a connection is complete, however late it is read, and no later request is answered', async () => {
    await serve({});
    const client = new Silent(port);
    clients.push(client);
    client.send('GET /last HTTP/1.1\r\nhost: x\r\n\r\n');
    await new Promise((resolve) => setTimeout(resolve, 200));
    client.read();
    await eventually(() => client.isClosed || client.received > BODY.byteLength + 2);
    expect(client.body().equals(Buffer.concat([BODY, Buffer.from('\r\n')]))).toBe(true);
    client.send('GET /small HTTP/1.1\r\nhost: x\r\n\r\n');
    await eventually(() => client.isClosed);
    expect(client.body().toString('latin1')).not.toContain('small');
  });

  test('a client that leaves, or sends another request before reading, is dropped', async () => {
    await serve({});
    const leaves = await ask('/own');
    const asks = await ask('/own');
    leaves.leave();
    await eventually(() => unsent.count === 1);
    asks.send('GET /small HTTP/1.1\r\nhost: x\r\n\r\n');
    await eventually(() => unsent.count === 0);
    expect(unsent.bytes).toBe(0);
    asks.read();
    await eventually(() => asks.isClosed);
    expect(asks.received).toBeLessThan(BODY.byteLength);
  });

  test('an answer for which there was no room before is dropped with its connection, and counted', async () => {
    await serve({});
    app.get('/refused', (response) => unsent.refuse(response));
    const client = await ask('/refused');
    client.read();
    await eventually(() => client.isClosed);
    expect(client.received).toBe(0);
    expect(unsent.dropCounts).toEqual({ total: 1, address: 0, time: 0 });
  });

  test("beyond the limit of one address its oldest answers are dropped, and no other address's", async () => {
    await serve({ bytesPerAddress: 2 * WAITING });
    const [other, first, second, third] = [
      await ask('/own', '127.0.0.2'),
      await ask('/own'),
      await ask('/own'),
      await ask('/own'),
    ];
    expect(unsent.dropCounts).toEqual({ total: 0, address: 1, time: 0 });
    expect(unsent.bytes).toBe(3 * WAITING);
    for (const client of [other, first, second, third]) client.read();
    await eventually(() => first.isClosed);
    for (const client of [other, second, third])
      await eventually(() => client.received > BODY.byteLength && !client.isClosed);
  });

  test('beyond the total limit the oldest answers of the client with the most waiting are dropped', async () => {
    await serve({ bytes: 3 * WAITING });
    const [single, first, second] = [
      await ask('/own', '127.0.0.2'),
      await ask('/own'),
      await ask('/own'),
    ];
    expect(sum(unsent.dropCounts)).toBe(0);
    const newest = await ask('/own', '127.0.0.3');
    expect(unsent.dropCounts).toEqual({ total: 1, address: 0, time: 0 });
    expect(unsent.bytes).toBe(3 * WAITING);
    for (const client of [single, first, second, newest]) client.read();
    await eventually(() => first.isClosed);
    for (const client of [single, second, newest])
      await eventually(() => client.received > BODY.byteLength);
  });

  test('a single answer larger than the limits is still sent', async () => {
    await serve({ bytes: MIB, bytesPerAddress: MIB });
    await ask('/own');
    const client = await ask('/own');
    expect(unsent.dropCounts).toEqual({ total: 0, address: 1, time: 0 });
    client.read();
    await eventually(() => client.received > BODY.byteLength);
  });

  test('a stop waits for clients that read, and only for them', async () => {
    await serve({});
    const clients = [await ask('/own'), await ask('/shared')];
    // On a busy machine, a slow client may count as settled.
    const settledAt = async (count: number) => {
      await unsent.settled();
      return unsent.count === count;
    };
    clients[0]!.read();
    await eventually(() => settledAt(1));
    clients[1]!.read();
    await eventually(() => settledAt(0));
  });

  test('answers not read in time are dropped', async () => {
    await serve({ ms: 60_000 });
    const early = await ask('/own');
    nowMs = 30_000;
    const late = await ask('/shared');
    nowMs = 59_999;
    unsent.sweep();
    expect(unsent.count).toBe(2);
    nowMs = 60_000;
    unsent.sweep();
    expect([unsent.count, unsent.dropCounts.time]).toEqual([1, 1]);
    for (const client of [early, late]) client.read();
    await eventually(() => early.isClosed);
    await eventually(() => late.received > BODY.byteLength);
  });
});

/** Peak and current resident memory of a process, in bytes. */
function memoryOf(pid: number): { peak: number; now: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const bytes = (name: string) =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)![1]) * 1_024;
  return { peak: bytes('VmHWM'), now: bytes('VmRSS') };
}

describe.skipIf(!existsSync('/proc/self/status'))('the memory of the exchange', () => {
  const GROWTH_BYTES_MAX = 48 * MIB;
  let folder: string;
  let server: ChildServer;
  let api: ApiClient;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'exchange-'));
    server = ChildServer.spawn({ DATA_FOLDER: folder, HOUSE: 'off', LOG_LEVEL: 'error' });
    api = await server.listening();
  });
  afterAll(async () => {
    await api.close();
    await server.stop();
    await rm(folder, { recursive: true });
  });

  // Clients are dropped once they request more than the system buffers, so no time has to pass.
  test.each([
    ['large files', 40, 10, requestText('GET', SCRIPT)],
    ['errors', 4, 100_000, requestText('POST', SCRIPT)],
    ['heads', 4, 100_000, requestText('HEAD', '/health')],
  ] as const)(
    'clients that request %s and read nothing cost almost no memory',
    async (_, count, requests, text) => {
      const pid = server.child.pid!;
      const allowedBytes = memoryOf(pid).now + GROWTH_BYTES_MAX;
      const port = Number(new URL(api.url).port);
      const clients = Array.from({ length: count }, () => new Silent(port));
      try {
        for (const client of clients) client.send(text.repeat(requests));
        await eventually(() => {
          expect(memoryOf(pid).peak).toBeLessThan(allowedBytes);
          for (const client of clients) client.probe();
          return clients.every(({ isClosed }) => isClosed);
        });
      } finally {
        for (const client of clients) client.leave();
      }
    },
  );
});

describe('files and answers without a body', () => {
  let server: TestServer;
  afterEach(() => server.stop());

  // Each edge counts the reads of its files.
  test.skipIf(AT_EDGES)('files count for fair use by their size', async () => {
    const reads = { user: null, address: only(60) };
    server = await TestServer.start({ fairUse: rates({ reads }) });
    const ask = (path: string, headers = {}) => fetched(server.api, path, headers);
    const script = await ask(SCRIPT);
    const cost = Math.ceil(Buffer.byteLength(script.text) / 65_536);
    expect(cost).toBeGreaterThan(10);
    const times = Math.floor(60 / cost);
    for (let i = 1; i < times; i++) expect((await ask(SCRIPT)).status).toBe(200);
    const refused = await ask(SCRIPT);
    expect([refused.status, JSON.parse(refused.text).error.code]).toEqual([429, 'rate_limited']);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    // The remaining tokens are enough for small files.
    for (let i = times * cost; i < 60; i++) expect((await ask('/docs/start.js')).status).toBe(200);
    expect((await ask('/docs/start.js')).status).toBe(429);
    expect((await ask(SCRIPT, { 'if-none-match': '*' })).status).toBe(429);
  });

  test.each([
    ['HEAD of a route', 'HEAD', '/health', {}],
    ['HEAD of a file', 'HEAD', '/docs/start.js', {}],
    ['HEAD of the stream', 'HEAD', '/stream', {}],
    ['304', 'GET', '/docs/start.js', { 'if-none-match': '*' }],
    ['204', 'POST', '/auth/logout', {}],
  ] as const)(
    '%s: the connection ends after the complete head',
    async (_what, method, path, headers) => {
      server = await TestServer.start();
      const client = new RawConnection(server.api.url);
      await client.send(requestText(method, path, headers, method === 'POST' ? '{}' : undefined));
      await client.closed();
      const [head, rest] = client.received.split('\r\n\r\n');
      expect(head).toMatch(/^HTTP\/1\.1 (200|204|304|405) /);
      expect(head).toMatch(/\r\nConnection: close(\r\n|$)/);
      expect(head).toMatch(/\r\nDate: \w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT(\r\n|$)/);
      expect(rest).toBe('');
    },
  );
});
