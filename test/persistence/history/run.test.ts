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
import { ByteReader, ByteWriter, MalformedBytes } from '../../../persistence/storage/bytes.js';
import { runOf, type Values } from './run-fixture.js';

const MAX = Number.MAX_SAFE_INTEGER;
/** Integers of every size, with the largest and smallest often enough. */
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

describe('a signed integer as bytes', () => {
  const written = (value: number): Buffer => {
    const bytes = new ByteWriter(1);
    bytes.signed(value);
    return Buffer.from(bytes.buffer.subarray(0, bytes.length));
  };
  const read = (bytes: Buffer): number => {
    const reader = new ByteReader();
    reader.open(bytes);
    const value = reader.signed();
    expect(reader.atEnd).toBe(true);
    return value;
  };

  it('reads back unchanged, in at most eight bytes', () => {
    fc.assert(
      fc.property(integers(-MAX), (value) => {
        const bytes = written(value);
        expect(bytes.length).toBeLessThanOrEqual(8);
        expect(read(bytes)).toBe(value);
      }),
      { numRuns: 2_000 },
    );
    for (const value of [0, 63, -63]) expect(written(value).length).toBe(1);
    for (const value of [64, -64, 8_191, -8_191]) expect(written(value).length).toBe(2);
    for (const value of [MAX, -MAX]) expect(read(written(value))).toBe(value);
  });

  it('is refused when it cannot be stored', () => {
    for (const value of [
      -0,
      0.5,
      -1.5,
      2 ** 53,
      -(2 ** 53),
      Number.NaN,
      Number.POSITIVE_INFINITY,
      -Infinity,
    ]) {
      expect(() => written(value), `${value}`).toThrow(RangeError);
    }
  });

  it('has one form only; other bytes are refused', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 10 }), (some) => {
        const reader = new ByteReader();
        reader.open(Buffer.from(some));
        let value: number;
        try {
          value = reader.signed();
        } catch (error) {
          expect(error).toBeInstanceOf(MalformedBytes);
          return;
        }
        expect(written(value)).toEqual(Buffer.from(some.subarray(0, reader.position)));
      }),
      { numRuns: 2_000 },
    );
    for (const bytes of [
      [0x40],
      [0x80, 0],
      [0xc1],
      [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x20],
    ]) {
      expect(() => read(Buffer.from(bytes))).toThrow(MalformedBytes);
    }
  });
});

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

  const userTrades = fc.sample(entriesOf(USER_TRADE, 9), { numRuns: 3, seed: 1 });

  it('with any bit flipped, in its entries or its numbers, is refused', () => {
    for (const entries of userTrades) {
      const run = runOf(USER_TRADE, 7, 12, entries);
      for (let bit = 0; bit < run.entries.length * 8; bit++) {
        const flipped = Buffer.from(run.entries);
        flipped[bit >> 3]! ^= 1 << (bit & 7);
        expectDamage(USER_TRADE, { ...run, entries: flipped });
      }
      for (const column of ['id', 'firstOrdinal', 'count', 'checksum'] as const) {
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

  it('with another number of entries and a matching checksum is refused', () => {
    const { id, firstOrdinal, count, entries } = runOf(USER_TRADE, 7, 12, userTrades[0]!);
    for (const other of [0, count - 1, count + 1, 1_000]) {
      const checksum = runChecksum(USER_TRADE.tag, [id, firstOrdinal, other], entries);
      expectDamage(USER_TRADE, { id, firstOrdinal, count: other, checksum, entries });
    }
  });

  function expectDamage(layout: ListLayout, run: RunRow): void {
    expect(() => readRun(layout, run)).toThrow(HistoryDamage);
  }
});
