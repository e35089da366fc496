/** Bodies and headers that are hard to read, or ambiguous. Each is refused, or counts once. */
import { requestText } from '../../../../bench/http/load/messages.js';
import type { Attack, AttackClass } from '../attack.js';
import { stakeOf, type Trader } from '../methods/client.js';
import { RawSocket } from '../methods/raw-socket.js';
import { KEY_CASES } from '../methods/smuggling-cases.js';
import { eventually, mustHold } from '../promises.js';
import type { Stage } from '../stage.js';

const LIMIT_MS = 10_000;
const BODY_BYTES_MAX = 65_536;
const keysOf = (count: number) =>
  `{${Array.from({ length: count }, (_, i) => `"k${i}":1`).join(',')}}`;

/** The answer's status; 0: the connection was closed without one. The text is sent as Latin-1. */
async function statusOf(stage: Stage, request: string): Promise<number> {
  const socket = await RawSocket.open(stage.exchange);
  socket.write(request);
  const isAnswered = () => socket.isClosed || socket.received.includes('\r\n\r\n');
  await eventually('an answer', LIMIT_MS, isAnswered);
  socket.reset();
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(socket.received)?.[1] ?? 0);
}

/** Text whose characters are its bytes. */
const bytes = (text: string) => Buffer.from(text, 'utf8').toString('latin1');
const stakeText = (trader: Trader, body: string) =>
  requestText(trader.signed({ method: 'POST', path: '/vaults/flex/stake', body: 'BODY' }))
    .replace('Content-Length: 4', `Content-Length: ${body.length}`)
    .replace('BODY', () => body);

const BODIES: readonly [name: string, body: string, status: number][] = [
  ['60,000 nested arrays', `${'['.repeat(30_000)}${']'.repeat(30_000)}`, 400],
  ['an amount 30,000 arrays deep', `{"amount":${'['.repeat(30_000)}${']'.repeat(30_000)}}`, 400],
  ['60,000 opening brackets', '['.repeat(60_000), 400],
  ['10,000 nested objects', `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`, 400],
  ['64 KiB of keys', keysOf(6_000), 400],
  ['64 KiB of blanks and a stake', `{"amount":1}${' '.repeat(BODY_BYTES_MAX - 12)}`, 201],
  ['one byte more than 64 KiB', `{"amount":1}${' '.repeat(BODY_BYTES_MAX - 11)}`, 413],
  ['__proto__', '{"amount":1,"__proto__":{"amount":2}}', 400],
  ['a key twice', '{"amount":1,"amount":2}', 400],
  ['a key twice, once escaped', '{"amount":1,"\\u0061mount":2}', 400],
  ['a byte order mark', bytes('\ufeff{"amount":1}'), 400],
  ['invalid UTF-8', '{"amount":1,"userId":"\xff"}', 400],
  ['half a surrogate', '{"amount":1,"userId":"\\ud800"}', 403],
  ['NUL', '{"amount":1}\0', 400],
  ['two documents', '{"amount":1}{"amount":2}', 400],
  ['a comment', '{"amount":1/**/}', 400],
  ['an array around it', '[{"amount":1}]', 400],
];

const body = ([name, text, due]: (typeof BODIES)[number]): Attack => ({
  name,
  done: 'as the body of a stake',
  run: async (stage) => {
    const trader = await stage.register();
    const startedMs = performance.now();
    const status = await statusOf(stage, stakeText(trader, text));
    const milliseconds = performance.now() - startedMs;
    mustHold(status === due, `answered ${status}, and should be ${due}`);
    await trader.mustHaveSpent(due === 201 ? 1 : 0);
    return `${status} in ${milliseconds.toFixed(0)} ms`;
  },
});

/** uWebSockets.js drops bytes of a key without quotes; only a proxy can refuse such a key. */
const KEYS = [
  ...['1', '1 ', '1\t', ' 1', '"1"', '"1 "', '"1\xc2\xa0"', '"1\x85"'],
  ...KEY_CASES.filter(({ expected }) => expected === 'refused').map(({ key }) => key),
];

const keys: Attack = {
  name: 'keys that look alike',
  done: 'stakes under keys that differ in bytes beyond ASCII, in blanks, or in quotes',
  run: async (stage) => {
    const trader = await stage.register();
    for (const key of KEYS) {
      const status = await statusOf(stage, requestText(trader.signed(stakeOf(1, key))));
      // Neither the blanks around a header's value (RFC 9110) nor quotes are part of the key.
      const due = /^"?1"?$/.test(key.trim()) ? 201 : 400;
      mustHold(status === due, `${JSON.stringify(key)} was answered ${status}`);
    }
    await trader.mustHaveSpent(1);
    return `${KEYS.length} keys`;
  },
};

export const bodies: AttackClass = { name: 'bodies', attacks: [...BODIES.map(body), keys] };
