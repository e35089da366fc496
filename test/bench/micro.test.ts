/** The plain timings. Ways that made different things would make every comparison worthless. */
import { tmpdir } from 'node:os';
import { expect, test } from 'vitest';
import { benchMicro } from '../../bench/micro/bench.js';
import { mustAgree, timed } from '../../bench/micro/timing.js';

test('every way has a row and a time, and all ways of reading and writing agree', async () => {
  const small = { ms: 1, users: 1_000, commands: 2_000 };
  const { tables, figures } = await benchMicro({ parent: tmpdir(), seed: 'test', ...small });
  const rows = tables.flatMap((table) => table.rows);
  expect(rows.length).toBeGreaterThan(15);
  expect(Object.keys(figures).length).toBe(rows.length);
  for (const [name, micros] of Object.entries(figures)) expect(micros, name).toBeGreaterThan(0);
  expect(figures).toHaveProperty('readOrderByteScannerUs');
});

test('ways that differ, or that fail, end the bench', async () => {
  expect(() =>
    mustAgree('a sum', [
      { a: 1, b: 2 },
      { b: 2, a: 1 },
    ]),
  ).not.toThrow();
  expect(() => mustAgree('a sum', [1, 1, 2])).toThrow('a sum: the results differ');
  let calls = 0;
  const fails = async () => {
    if (++calls > 5) throw new Error('no more');
  };
  const work = { name: 'a fault', figure: 'fault', ways: { fails } };
  await expect(timed('Faults', [work], 1)).rejects.toThrow('no more');
});
