/** The compression thread: its queue is bounded, and without it bodies are sent plain. */
import { gunzipSync } from 'node:zlib';
import { afterEach, expect, test } from 'vitest';
import { AnswerCoder, type Coded } from '../../../../gateway/http/answers/answer-coder.js';
import { createLog } from '../../../../gateway/observe/log.js';
import { sharedBytes } from '../../../../persistence/storage/shared-bytes.js';

let coder: AnswerCoder;
afterEach(() => coder.stop());

function bodyOf(length: number): Uint8Array {
  const body = sharedBytes(length);
  for (let i = 0; i < length; i++) body[i] = 97 + (i % 7);
  return body;
}

const coded = (body: Uint8Array) =>
  new Promise<Coded>((resolve) =>
    coder.code({ body, tag: null, ifNoneMatch: '', coding: 'gzip' }, resolve),
  );

test('beyond the bound a body goes as it is, without a tag; later ones are compressed again', async () => {
  coder = new AnswerCoder(createLog('silent'), 250_000);
  const bodies = [bodyOf(100_000), bodyOf(100_001), bodyOf(100_002)];
  const [first, second, third] = await Promise.all(bodies.map(coded));
  for (const [answer, body] of [
    [first!, bodies[0]!],
    [second!, bodies[1]!],
  ] as const) {
    expect(answer.coding).toBe('gzip');
    expect(gunzipSync(answer.bytes!)).toEqual(Buffer.from(body));
  }
  expect(third).toEqual({ tag: null, coding: '', bytes: bodies[2] });
  expect((await coded(bodies[2]!)).coding).toBe('gzip');
});

test('if the thread fails, what waits goes as it is, and another thread is started', async () => {
  coder = new AnswerCoder(createLog('silent'));
  const damaged = { byteLength: 10 } as unknown as Uint8Array;
  const body = bodyOf(50_000);
  const answers = await Promise.all([coded(damaged), coded(body)]);
  expect(answers.map(({ tag, coding }) => ({ tag, coding }))).toEqual([
    { tag: null, coding: '' },
    { tag: null, coding: '' },
  ]);
  expect((await coded(body)).coding).toBe('gzip');
});

test('what a failed thread had done before is not answered twice', async () => {
  coder = new AnswerCoder(createLog('silent'));
  const damaged = { byteLength: 10 } as unknown as Uint8Array;
  await coded(bodyOf(50_000));
  const answers = [coded(bodyOf(50_000)), coded(bodyOf(50_000)), coded(damaged)];
  // While the trading thread is busy, it reads the failure before the first two answers.
  const untilMs = performance.now() + 250;
  while (performance.now() < untilMs);
  expect(await Promise.all(answers)).toHaveLength(3);
  expect((await coded(bodyOf(50_000))).coding).toBe('gzip');
});

test('a stop answers what waits', async () => {
  coder = new AnswerCoder(createLog('silent'));
  const body = bodyOf(400_000);
  const answers = Array.from({ length: 5 }, () => coded(body));
  await coder.stop();
  for (const answer of await Promise.all(answers)) expect(answer.bytes!.length).toBeGreaterThan(0);
  expect(await coded(body)).toEqual({ tag: null, coding: '', bytes: body });
});
