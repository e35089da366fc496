/**
 * Responses written from their schemas: exact decimals, and the schema's fields in the schema's
 * order.
 */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { MAX_TOTAL_MICROS } from '../../../engine/interface/limits.js';
import { lots, micros, microsOrNull, ticks } from '../../../gateway/json/decimal.js';
import { money, price, shares } from '../../../gateway/json/response-fields.js';
import { serializer } from '../../../gateway/json/serializer.js';

const amountText = serializer(z.strictObject({ amount: money.nullable() }));

test.each([
  [0, '0'],
  [-0, '0'],
  [1, '0.000001'],
  [-1, '-0.000001'],
  [1_500_000, '1.5'],
  [-19_450_000, '-19.45'],
  [999_999_999_999_999, '999999999.999999'],
  [1_000_000_000_000_001, '1000000000.000001'],
  [8_999_999_999_999_999, '8999999999.999999'],
  [-8_999_999_999_999_999, '-8999999999.999999'],
  [9_000_000_000_000_000, '9000000000'],
  [MAX_TOTAL_MICROS, '9000000000'],
])('%d micros are written as %s', (integer, text) => {
  expect(amountText({ amount: micros(integer) })).toBe(`{"amount":${text}}`);
});

test('lots, ticks and null', () => {
  const write = serializer(
    z.strictObject({ shares, price: price.nullable(), value: money.nullable() }),
  );
  const value = microsOrNull(null);
  expect(write({ shares: lots(1), price: ticks(999), value })).toBe(
    '{"shares":0.001,"price":0.999,"value":null}',
  );
  expect(write({ shares: lots(9_000_000_000_000_001), price: null, value })).toBe(
    '{"shares":9000000000000.001,"price":null,"value":null}',
  );
});

describe('fields', () => {
  const Entry = z.strictObject({ id: z.string(), rank: z.int().nullable(), kind: z.literal('x') });
  const write = serializer(
    z.strictObject({ entries: z.array(Entry), note: z.string().optional() }),
  );

  test('have the order of the schema, whatever the order in the value', () => {
    expect(write({ note: 'n', entries: [{ kind: 'x', rank: null, id: 'a' }] })).toBe(
      '{"entries":[{"id":"a","rank":null,"kind":"x"}],"note":"n"}',
    );
    expect(write({ entries: [] })).toBe('{"entries":[]}');
  });

  test('are escaped like JSON', () => {
    const id = '"\\\n\u0000é\ud800';
    expect(write({ entries: [{ id, rank: 1, kind: 'x' }] })).toBe(
      JSON.stringify({ entries: [{ id, rank: 1, kind: 'x' }] }),
    );
  });

  test('that are not in the schema are not written', () => {
    const value = { entries: [], password: 'secret' };
    expect(write(value)).toBe('{"entries":[]}');
  });

  test('that are required and missing throw', () => {
    expect(() => write({} as never)).toThrow('"entries" is required');
    expect(() => amountText({} as never)).toThrow('"amount" is required');
  });

  test('that are optional must come last', () => {
    const schema = z.strictObject({ first: z.string().optional(), second: z.string() });
    expect(() => serializer(schema)).toThrow('the optional field first must come last');
  });
});

test('and constants tell the options of a union apart', () => {
  const Buy = z.strictObject({ side: z.literal('BUY'), spent: money });
  const Sell = z.strictObject({ side: z.literal('SELL'), received: money });
  const write = serializer(z.array(z.union([Buy, Sell])));
  const one = micros(1);
  expect(
    write([
      { side: 'SELL', received: one },
      { side: 'BUY', spent: one },
    ]),
  ).toBe('[{"side":"SELL","received":0.000001},{"side":"BUY","spent":0.000001}]');
});
