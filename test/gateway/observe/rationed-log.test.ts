/** Warnings that clients can cause: one line a second per kind, with a count of omitted lines. */
import { expect, test } from 'vitest';
import { createLog } from '../../../gateway/observe/log.js';
import { RationedLog } from '../../../gateway/observe/rationed-log.js';

test('logs one line a second per kind, with the number of omitted ones', () => {
  const lines: string[] = [];
  const time = { nowMs: 0 };
  const log = new RationedLog(
    createLog('warn', { write: (line) => lines.push(line) }),
    () => time.nowMs,
  );
  for (time.nowMs = 0; time.nowMs < 1_000; time.nowMs += 100) log.warn({ at: time.nowMs }, 'a');
  log.warn({}, 'b');
  time.nowMs = 1_000;
  log.warn({ at: 1_000 }, 'a');
  time.nowMs = 5_000;
  log.warn({ at: 5_000 }, 'a');
  const seen = lines
    .map((line) => JSON.parse(line))
    .map(({ at, moreLikeThis, msg }) => [msg, at, moreLikeThis]);
  expect(seen).toEqual([
    ['a', 0, 0],
    ['b', undefined, 0],
    ['a', 1_000, 9],
    ['a', 5_000, 0],
  ]);
});
