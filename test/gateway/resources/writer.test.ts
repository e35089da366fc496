/** Answers are written from the engine's integers by their schemas (json/writer.ts). */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { money, outcome, resolution } from '../../../gateway/json/response-fields.js';
import { Writer } from '../../../gateway/json/writer.js';

const assets = { assetSymbol: () => 'BTC', findAsset: () => 0 };
const writer = new Writer<Record<string, number>>(
  z.object({ outcome, resolution: resolution.nullable(), fee: money }),
);

test('a number is written as its name or decimal', () => {
  const source = { outcome: 1, resolution: 0, feeMicros: 1_500_000 };
  expect(writer.text(source, assets)).toBe('{"outcome":"DOWN","resolution":null,"fee":1.5}');
});

test.each([
  ['a number without a name', { outcome: 7, resolution: 0, feeMicros: 1 }, '7 has no name'],
  ['a field without a source', { outcome: 1, resolution: 0 }, 'fee has no source: feeMicros'],
])('%s is an error', (_, source, message) => {
  expect(() => writer.text(source, assets)).toThrow(message);
});
