/** Typed amounts are read as meant, or refused. */
import { expect, test } from 'vitest';
import {
  ambiguity,
  canBecome,
  fieldText,
  readDecimal,
  readMicros,
  readTicks,
} from '../../../gateway/site/app/parts/amount.js';

test.each([
  ['1250', '1250'],
  [' 1,250.50 ', '1250.50'],
  ['1,250,000', '1250000'],
  ['0.55', '0.55'],
  // In none of these do commas separate thousands.
  ['12,50', null],
  ['0,500', null],
  ['1,25,000', null],
  ['1250,000', null],
  ['1,250,50', null],
  ['1.250,50', null],
  ['1 250', null],
  ['1e3', null],
  ['-5', null],
  ['$5', null],
  ['', null],
])('where decimals follow a point, %j is %j', (typed, read) => {
  expect(readDecimal(typed, '.')).toBe(read);
});

test.each([
  ['12,50', '12.50'],
  ['0,250', '0.250'],
  ['1.250,50', '1250.50'],
  ['1.250.000', '1250000'],
  ['1 250,5', '1250.5'],
  ['1\u202f250', '1250'],
  ['1,250.50', '1250.50'],
  ['20.5760', '20.5760'],
  ['0.576', '0.576'],
  // Thousands in one notation, three decimals in the other.
  ['1,250', null],
  ['12.500', null],
  ['1.25.000', null],
])('where decimals follow a comma, %j is %j', (typed, read) => {
  expect(readDecimal(typed, ',')).toBe(read);
});

test.each([
  ['20.576', '.', '20.576'],
  ['20.576', ',', '20.5760'],
  ['0.576', ',', '0.576'],
  ['20.5', ',', '20.5'],
])('a field shows %j, where decimals follow %j, as %j', (decimal, mark, text) => {
  expect(fieldText(decimal, mark)).toBe(text);
  expect(Number(readDecimal(text, mark))).toBe(Number(decimal));
});

test.each([
  ['12.500', '12.500 can mean 12.5 or 12500. Write one of these.'],
  ['$1,234', '$1,234 can mean 1234 or 1.234. Write one of these.'],
  ['1.234', '1.234 can mean 1.2340 or 1234. Write one of these.'],
  ['12,50', ''],
  ['ten', ''],
])('where decimals follow a comma, %j is asked about: %s', (typed, sentence) => {
  expect(ambiguity(typed, ',')).toBe(sentence);
  expect(ambiguity(typed, '.')).toBe('');
});

test('more decimals than there are, zero, and a price of a dollar are no amounts', () => {
  expect(readMicros('1.0000001')).toBe(null);
  expect(readMicros('0')).toBe(null);
  expect(readTicks('100')).toBe(null);
  expect(readTicks('99.9')).toBe(999);
  expect(readTicks('54.35')).toBe(null);
});

test('a price is in cents, with or without their sign', () => {
  expect(readTicks('0.5')).toBe(5);
  expect(readTicks('0.55')).toBe(null);
  expect(readTicks('0.5¢')).toBe(5);
  expect(readTicks('54.3 ¢')).toBe(543);
});

test('a dollar sign may stand before dollars', () => {
  expect([' $10 ', '$ 1,250.5', '$', '10$'].map(readMicros)).toEqual([
    10_000_000,
    1_250_500_000,
    null,
    null,
  ]);
  expect(readTicks('$50')).toBe(null);
});

test.each(['', '0', '0.0', '1.', '1,', '1,25', '$', '999999'])(
  '%j can become an amount',
  (typed) => {
    expect(canBecome(typed, readMicros)).toBe(true);
  },
);

test.each(['ten', '-', '1e', '1.0000001', '1,25,', '10$'])('%j cannot', (typed) => {
  expect(canBecome(typed, readMicros)).toBe(false);
});
