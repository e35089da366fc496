/**
 * A run of entries as stored in the history: it reads back unchanged, and any change to its bytes
 * is found.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HistoryDamage } from '../../../persistence/history/rows.js';
import {
  LISTS,
  type ListLayout,
  POINTS_CREDIT,
  runChecksum,
  USER_TRADE,
} from '../../../persistence/history/runs/format.js';
import { type RunRow, readRun } from '../../../persistence/history/runs/reader.js';
import { Pieces } from '../../../persistence/history/runs/writer.js';
import { runOf, type Values } from './run-fixture.js';

const MAX = Number.MAX_SAFE_INTEGER;
/** Integers of every size, often the largest and the smallest. */
function integers(min: number): fc.Arbitrary<number> {
  const bits = fc
    .integer({ min: 0, max: 53 })
    .chain((size) => fc.integer({ min: 0, max: 2 ** size - 1 }));
  const near = fc.constantFrom(
    0,
    1,
    63,
    64,
    8_191,
    8_192,
    2 ** 31 - 1,
    2 ** 31,
    2 ** 32,
    MAX - 1,
    MAX,
  );
  const magnitude = fc.oneof(bits, near);
  if (min === 0) return magnitude;
  return fc
    .tuple(magnitude, fc.boolean())
    .map(([value, isNegative]) => (isNegative ? 0 - value : value));
}

function entriesOf({ columns, negatives }: ListLayout, maxLength: number): fc.Arbitrary<Values[]> {
  const entry = fc.record(
    Object.fromEntries(
      columns.map((name) => [name, integers(negatives.includes(name) ? -MAX : 0)]),
    ),
  ) as fc.Arbitrary<Values>;
  return fc.array(entry, { minLength: 1, maxLength });
}

describe('a run', () => {
  it.each(LISTS.map((layout) => [layout.name, layout as ListLayout] as const))(
    'of %s gives back every entry, whatever its values',
    (_name, layout) => {
      fc.assert(
        fc.property(entriesOf(layout, 12), integers(0), integers(0), (entries, id, first) => {
          const ordinal = Math.min(first, MAX - entries.length);
          const found = readRun(layout, runOf(layout, id, ordinal, entries));
          const expected = entries.map((entry, i) => ({
            ...entry,
            [layout.key]: id,
            ordinal: ordinal + i,
          }));
          expect(found).toEqual(expected);
        }),
        { numRuns: 300 },
      );
    },
  );

  it('whose entries are deflated gives back the same, and is refused without that mark', () => {
    const entries = Array.from({ length: 200 }, (_, i) =>
      Object.fromEntries(USER_TRADE.columns.map((name) => [name, 1_000 + i])),
    );
    const plain = runOf(USER_TRADE, 7, 1, entries);
    const pieces = new Pieces();
    pieces.bytes.append(plain.entries, 0, plain.entries.length);
    pieces.addDeflated(USER_TRADE.list, 7, 1, entries.length, 0);
    const [piece] = pieces.drain();
    expect(piece!.entries.length).toBeLessThan(plain.entries.length / 2);
    const [[, , , , deflated, checksum]] = JSON.parse(piece!.rows);
    const row = { ...plain, deflated, checksum, entries: piece!.entries };
    expect(readRun(USER_TRADE, row)).toEqual(readRun(USER_TRADE, plain));
    expectDamage(USER_TRADE, { ...row, deflated: 0 });
    expectDamage(USER_TRADE, { ...plain, deflated: 1 });
  });

  const userTrades = fc.sample(entriesOf(USER_TRADE, 9), { numRuns: 3, seed: 1 });

  it('with any bit flipped, in its entries or its numbers, is refused', () => {
    for (const entries of userTrades) {
      const run = runOf(USER_TRADE, 7, 12, entries);
      for (let bit = 0; bit < run.entries.length * 8; bit++) {
        const flipped = Buffer.from(run.entries);
        flipped[bit >> 3]! ^= 1 << (bit & 7);
        expectDamage(USER_TRADE, { ...run, entries: flipped });
      }
      for (const column of ['id', 'firstOrdinal', 'count', 'deflated', 'checksum'] as const) {
        for (let bit = 0; bit < 32; bit++)
          expectDamage(USER_TRADE, { ...run, [column]: run[column] + 2 ** bit });
      }
      expectDamage(USER_TRADE, { ...run, entries: run.entries.subarray(1) });
      expectDamage(USER_TRADE, { ...run, entries: Buffer.concat([run.entries, Buffer.from([0])]) });
      expectDamage(POINTS_CREDIT, run);
    }
  });

  it('whose numbers are not numbers, or whose entries are not bytes, is refused', () => {
    const run = runOf(USER_TRADE, 7, 12, userTrades[0]!);
    for (const column of ['id', 'firstOrdinal', 'count', 'checksum', 'entries'] as const) {
      for (const value of [null, '7', 7.5, -7])
        expectDamage(USER_TRADE, { ...run, [column]: value } as RunRow);
    }
  });

  it('with a number that could not be read back is not written', () => {
    const [entry] = userTrades[0]!;
    for (const tradeId of [2 ** 53, -0, 0.5])
      expect(() => runOf(USER_TRADE, 7, 12, [{ ...entry, tradeId }])).toThrow(RangeError);
  });

  it('with another number of entries and a matching checksum is refused', () => {
    const run = runOf(USER_TRADE, 7, 12, userTrades[0]!);
    for (const count of [0, run.count - 1, run.count + 1, 1_000]) {
      const other = { ...run, count };
      const checksum = runChecksum(USER_TRADE.list, other, run.entries);
      expectDamage(USER_TRADE, { ...other, checksum });
    }
  });

  function expectDamage(layout: ListLayout, run: RunRow): void {
    expect(() => readRun(layout, run)).toThrow(HistoryDamage);
  }
});
