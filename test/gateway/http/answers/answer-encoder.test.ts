/** The compression thread: its queue is bounded, and without it bodies are sent plain. */
import { gunzipSync } from 'node:zlib';
import { afterEach, expect, test } from 'vitest';
import {
  AnswerEncoder,
  type EncodedBody,
} from '../../../../gateway/http/answers/answer-encoder.js';
import { createLog } from '../../../../gateway/observe/log.js';
import { sharedBytes } from '../../../../persistence/storage/shared-bytes.js';

let encoder: AnswerEncoder;
afterEach(() => encoder.stop());

function bodyOf(length: number): Uint8Array {
  const body = sharedBytes(length);
  for (let i = 0; i < length; i++) body[i] = 97 + (i % 7);
  return body;
}

const encoded = (body: Uint8Array) =>
  new Promise<EncodedBody>((resolve) =>
    encoder.encode({ body, tag: null, ifNoneMatch: '', encoding: 'gzip' }, resolve),
  );

test('beyond the bound a body goes as it is, without a tag; later ones are compressed again', async () => {
  encoder = new AnswerEncoder(createLog('silent'), 250_000);
  const bodies = [bodyOf(100_000), bodyOf(100_001), bodyOf(100_002)];
  const [first, second, third] = await Promise.all(bodies.map(encoded));
  for (const [answer, body] of [
    [first!, bodies[0]!],
    [second!, bodies[1]!],
  ] as const) {
    expect(answer.encoding).toBe('gzip');
    expect(gunzipSync(answer.bytes!)).toEqual(Buffer.from(body));
  }
  expect(third).toEqual({ tag: null, encoding: '', bytes: bodies[2] });
  expect((await encoded(bodies[2]!)).encoding).toBe('gzip');
});

test('if the thread fails, what waits goes as it is, and another thread is started', async () => {
  encoder = new AnswerEncoder(createLog('silent'));
  const damaged = { byteLength: 10 } as unknown as Uint8Array;
  const body = bodyOf(50_000);
  const answers = await Promise.all([encoded(damaged), encoded(body)]);
  expect(answers.map(({ tag, encoding }) => ({ tag, encoding }))).toEqual([
    { tag: null, encoding: '' },
    { tag: null, encoding: '' },
  ]);
  expect((await encoded(body)).encoding).toBe('gzip');
});

test('what a failed thread had done before is not answered twice', async () => {
  encoder = new AnswerEncoder(createLog('silent'));
  const damaged = { byteLength: 10 } as unknown as Uint8Array;
  await encoded(bodyOf(50_000));
  const answers = [encoded(bodyOf(50_000)), encoded(bodyOf(50_000)), encoded(damaged)];
  // While the trading thread is busy, it reads the failure before the first two answers.
  const untilMs = performance.now() + 250;
  while (performance.now() < untilMs);
  expect(await Promise.all(answers)).toHaveLength(3);
  expect((await encoded(bodyOf(50_000))).encoding).toBe('gzip');
});

test('a stop answers what waits', async () => {
  encoder = new AnswerEncoder(createLog('silent'));
  const body = bodyOf(400_000);
  const answers = Array.from({ length: 5 }, () => encoded(body));
  await encoder.stop();
  for (const answer of await Promise.all(answers)) expect(answer.bytes!.length).toBeGreaterThan(0);
  expect(await encoded(body)).toEqual({ tag: null, encoding: '', bytes: body });
});
