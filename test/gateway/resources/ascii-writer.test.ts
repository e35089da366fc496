/** The byte writer for answers: numbers in plain decimal notation, anywhere in the buffer. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { lotsText, microsText, ticksText } from '../../../engine/interface/notation.js';
import { AsciiWriter, ascii } from '../../../gateway/json/ascii-writer.js';

const written = (write: (out: AsciiWriter) => void): string => {
  const out = new AsciiWriter();
  write(out);
  expect(Buffer.from(out.toBytes()).toString()).toBe(out.toText());
  return out.toText();
};
const NOTHING = ascii('');
const count = fc.oneof(
  fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
  fc.integer({ min: 0, max: 10_000_000 }),
  // Near powers of ten, where the number of digits changes.
  fc
    .tuple(fc.integer({ min: 0, max: 15 }), fc.integer({ min: -2, max: 2 }))
    .map(([power, step]) => Math.max(0, 10 ** power + step)),
);

test('writes numbers in plain decimal notation', () => {
  fc.assert(
    fc.property(count, (value) => {
      expect(written((out) => out.integer(NOTHING, value))).toBe(`${value}`);
      expect(written((out) => out.micros(NOTHING, value))).toBe(microsText(value));
      expect(written((out) => out.lots(NOTHING, value))).toBe(lotsText(value));
    }),
    { numRuns: 5_000 },
  );
  for (let ticks = 1; ticks <= 999; ticks++)
    expect(written((out) => out.ticks(NOTHING, ticks))).toBe(ticksText(ticks));
  const largest = Number.MAX_SAFE_INTEGER;
  expect(written((out) => out.micros(NOTHING, largest))).toBe('9007199254.740991');
  expect(written((out) => out.micros(NOTHING, largest - 740_992))).toBe('9007199253.999999');
});

test('throws on a value that is not a count', () => {
  for (const value of [-1, Number.NaN, 2 ** 53]) {
    expect(() => written((out) => out.integer(NOTHING, value)), `${value}`).toThrow(RangeError);
  }
});

test('writes pieces of every length in a row', () => {
  const texts = Array.from({ length: 70 }, (_, i) => 'aZ09,:"{}[]~ '.repeat(6).slice(0, i + 1));
  const write = (out: AsciiWriter) => {
    for (const text of texts) out.put(ascii(text));
  };
  expect(written(write)).toBe(texts.join(''));
});

test('grows', () => {
  const text = 'x'.repeat(200_000);
  expect(written((out) => out.text(text))).toBe(text);
  // The end of the buffer may fall within a piece, or before a number.
  for (let before = 65_500; before <= 65_540; before++) {
    const start = 'y'.repeat(before);
    const whole = written((out) => {
      out.text(start);
      out.micros(ascii('piece,'), 1_234_567);
      out.byte(33);
    });
    expect(whole).toBe(`${start}piece,1.234567!`);
  }
});
