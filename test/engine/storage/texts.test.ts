/**
 * Texts stored outside the heap: each reads back unchanged, also from an archive, and has the same
 * hash as the string.
 */

import { describe, expect, test } from 'vitest';
import { type Archive, StateReader, StateWriter } from '../../../engine/storage/archive.js';
import { runToEnd } from '../../../engine/storage/incremental-task.js';
import { TextHash } from '../../../engine/storage/text-hash.js';
import { LongTexts, ShortTexts } from '../../../engine/storage/texts.js';
import { Random } from '../../support/workload/random.js';

/** More than one chunk of rows, and not a whole number of chunks. */
const ROWS = 20_000;

interface Archived {
  archive(archive: Archive, rows: number): Generator<void, void, void> | void;
}

function archive(texts: Archived, into: Archive): void {
  const pieces = texts.archive(into, ROWS);
  if (pieces !== undefined) runToEnd(pieces);
}

function bytesOf(texts: Archived): Uint8Array {
  const pieces: Uint8Array[] = [];
  const writer = new StateWriter((bytes) => pieces.push(bytes.slice()));
  archive(texts, writer);
  writer.finish();
  return Buffer.concat(pieces);
}

function copyTo<T extends Archived>(copy: T, bytes: Uint8Array): T {
  const reader = new StateReader(bytes);
  archive(copy, reader);
  reader.finish();
  return copy;
}

function keyedHash(): TextHash {
  const hash = new TextHash();
  hash.setKey('a secret');
  return hash;
}

function textOf(random: Random, length: number, highestUnit: number): string {
  return Array.from({ length }, () => String.fromCharCode(random.whole(32, highestUnit))).join('');
}

describe('short texts', () => {
  test('read back as they were last set, with the same bytes', () => {
    const random = new Random('short');
    const hash = keyedHash();
    const texts = new ShortTexts();
    texts.ensure(ROWS);
    const expected = Array.from({ length: ROWS }, () => textOf(random, random.whole(0, 23), 126));
    for (let row = 0; row < ROWS; row += 3) texts.set(row, textOf(random, 23, 126));
    for (let row = 0; row < ROWS; row++) texts.set(row, expected[row]!);
    const bytes = bytesOf(texts);
    const copy = copyTo(new ShortTexts(), bytes);
    for (let row = 0; row < ROWS; row++) {
      const text = expected[row]!;
      if (copy.get(row) !== text || texts.get(row) !== text) expect(copy.get(row)).toBe(text);
      if (row % 50 !== 0) continue;
      expect(copy.hashOf(row, hash)).toBe(hash.of(text));
      expect(copy.lowerHashOf(row, hash)).toBe(hash.of(text.toLowerCase()));
    }
    const fresh = new ShortTexts();
    fresh.ensure(ROWS);
    for (let row = 0; row < ROWS; row++) fresh.set(row, expected[row]!);
    expect(Buffer.compare(bytesOf(fresh), bytes)).toBe(0);
    expect(Buffer.compare(bytesOf(copy), bytes)).toBe(0);
  });

  test('are refused when they are too long', () => {
    const texts = new ShortTexts();
    texts.ensure(1);
    expect(() => texts.set(0, 'x'.repeat(24))).toThrow(/24 characters/);
  });
});

describe('long texts', () => {
  test('of any length and any characters read back, wherever their blocks are', () => {
    const random = new Random('long');
    const hash = keyedHash();
    const lengths = [0, 1, 62, 63, 64, 65, 127, 128, 4_095, 4_096, 5_000];
    const expected = Array.from({ length: ROWS }, (_, row) => {
      const length = row < 200 ? lengths[row % lengths.length]! : random.whole(0, 150);
      return textOf(random, length, [126, 255, 65_535][row % 3]!);
    });
    const texts = new LongTexts();
    texts.ensure(ROWS);
    for (let row = 0; row < ROWS; row += 2)
      texts.set(row, textOf(random, random.whole(0, 300), 126));
    for (let row = ROWS - 1; row >= 0; row--) texts.set(row, expected[row]!);
    const bytes = bytesOf(texts);
    const copy = copyTo(new LongTexts(), bytes);
    for (let row = 0; row < ROWS; row++) {
      const text = expected[row]!;
      if (copy.get(row) !== text || texts.get(row) !== text) expect(copy.get(row)).toBe(text);
      if (row % 50 === 0 || row < 200) expect(copy.hashOf(row, hash)).toBe(hash.of(text));
    }
    expect(Buffer.compare(bytesOf(copy), bytes)).toBe(0);
    copy.set(7, 'another');
    expect([copy.get(6), copy.get(7), copy.get(8)]).toEqual([expected[6], 'another', expected[8]]);
  });

  test('a truncated archive is refused', () => {
    const texts = new LongTexts();
    texts.ensure(ROWS);
    texts.set(5, 'x'.repeat(100));
    const bytes = bytesOf(texts);
    for (const length of [0, 100, ROWS * 4 - 1, ROWS * 4 + 1, bytes.length - 1]) {
      expect(() => copyTo(new LongTexts(), bytes.subarray(0, length))).toThrow(/truncated/);
    }
  });
});
