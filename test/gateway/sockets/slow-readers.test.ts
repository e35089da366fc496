/**
 * Socket threads alone, with a handler of the test's: answers that are larger than any send buffer
 * and many times the ring, clients that read them late or never, and the end of a thread.
 */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { SocketCounts } from '../../../gateway/sockets/counts.js';
import { HandedAnswers } from '../../../gateway/sockets/remote-response.js';
import { SocketThreads } from '../../../gateway/sockets/socket-threads.js';
import { eventually } from '../../support/eventually.js';
import { RawConnection } from '../../support/raw-connection.js';

const MIB = 2 ** 20;
const BODY = Buffer.alloc(16 * MIB, 'an answer larger than any send buffer. ');
const UNSENT = { bytes: 40 * MIB, bytesPerAddress: 0, ms: 60_000 };

let threads: SocketThreads;
let counts: SocketCounts;
let url: string;
let failures: unknown[];
let gone: number;
let clients: RawConnection[];
/** To be called when the large answer has been written to the ring, as far as it fits. */
let onLarge: () => void;

beforeEach(async () => {
  failures = [];
  clients = [];
  gone = 0;
  onLarge = () => {};
  counts = SocketCounts.create(2);
  const unsent = new HandedAnswers(UNSENT, () => performance.now());
  threads = new SocketThreads({
    threads: 1,
    trustProxy: false,
    connections: { total: 100, perAddress: 0, streamsPerAddress: 0 },
    unsent: UNSENT,
    counts,
    tellConnections: () => {},
    fail: (error) => failures.push(error),
    refuse: () => {},
  });
  threads.on('get', '/large', (response) => {
    response.cork(() => unsent.send(response, BODY));
    onLarge();
  });
  threads.on('get', '/never', (response) => {
    response.onAborted(() => gone++);
  });
  url = `http://127.0.0.1:${await threads.listen('127.0.0.1', 0)}`;
});
afterEach(async () => {
  for (const client of clients) client.leave();
  threads.close();
  await threads.closed();
});

async function ask(path: string, reads = true): Promise<RawConnection> {
  const client = new RawConnection(url);
  clients.push(client);
  if (!reads) client.pause();
  await client.send(`GET ${path} HTTP/1.1\r\nhost: exchange\r\n\r\n`);
  return client;
}

test('an answer of many rings arrives whole, also at a client that reads late', async () => {
  const late = await ask('/large', false);
  const prompt = await ask('/large');
  await eventually(() => prompt.received.length > BODY.length);
  expect(prompt.received.endsWith(BODY.toString('latin1'))).toBe(true);
  late.resume();
  await eventually(() => late.received.length > BODY.length);
  expect(late.received.endsWith(BODY.toString('latin1'))).toBe(true);
  await eventually(() => counts.sum('unsentAnswers') === 0);
});

test('keeps no more than the limit for clients that do not read', async () => {
  for (let i = 0; i < 6; i++) await ask('/large', false);
  await eventually(() => counts.sum('droppedTotal') > 0);
  await eventually(() => {
    expect(counts.sum('unsentBytes')).toBeLessThanOrEqual(UNSENT.bytes);
    expect(counts.sum('unsentAnswers')).toBeGreaterThan(0);
  });
  expect(failures).toEqual([]);
});

test('a stop waits until a thread has taken every answer', async () => {
  const { answers } = threads['links'][0]! as unknown as { answers: { waitingBytes: number } };
  let waiting = 0;
  const settled = new Promise<void>((resolve, reject) => {
    onLarge = () => {
      waiting = answers.waitingBytes;
      threads.settled().then(resolve, reject);
    };
  });
  await ask('/large');
  await settled;
  expect(waiting).toBeGreaterThan(BODY.length / 2);
  expect(answers.waitingBytes).toBe(0);
  expect(failures).toEqual([]);
});

test('tells of a client that leaves before its answer', async () => {
  const client = await ask('/never');
  await eventually(() => counts.connectionCount((row) => row === 1) === 1);
  client.leave();
  await eventually(() => gone === 1);
  expect(counts.connectionCount((row) => row === 1)).toBe(0);
});

test('the end of a thread is a failure, unless it was asked for', async () => {
  threads['links'][0]!.post('close');
  await eventually(() => failures.length > 0);
  expect(String(failures[0])).toMatch(/socket thread 1 ended/);
});

test('a bug in a thread is a failure with its message', async () => {
  const notAMessage = null as unknown as 'close';
  threads['links'][0]!.post(notAMessage);
  await eventually(() => failures.length > 0);
  expect(String(failures[0])).toMatch(/socket thread 1 failed: TypeError/);
});
