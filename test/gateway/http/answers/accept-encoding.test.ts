/** Accept-Encoding: the encoding is chosen by weight and by the server's preference. */
import { expect, test } from 'vitest';
import { acceptedEncoding } from '../../../../gateway/http/answers/accept-encoding.js';
import { namesTag } from '../../../../gateway/http/answers/entity-tags.js';

test.each([
  // Without a known encoding, the bytes are sent uncompressed.
  ['', '', false],
  ['identity', '', false],
  ['deflate, zstd', '', false],
  ['deflate, identity;q=0', '', false],
  ['*;q=0', '', false],
  ['br;q=0, gzip;q=0', '', false],
  // The server prefers brotli, but the client's weights come first.
  ['gzip', 'gzip', false],
  ['gzip, deflate, br', 'br', false],
  ['GZIP', 'gzip', false],
  ['br;q=0.5, gzip;q=0.8', 'gzip', false],
  ['br;q=0.001', 'br', false],
  ['gzip;q=1.000 , br;q=0.999', 'gzip', false],
  ['gzip\t;\tq=0.3', 'gzip', false],
  ['gzip;Q=0', '', false],
  // `*` stands for every other encoding.
  ['*', 'br', false],
  ['br;q=0, *', 'gzip', false],
  ['gzip;q=0.2, *;q=0.1', 'gzip', false],
  // A client may prefer, or refuse, uncompressed bytes.
  ['identity, gzip;q=0.5', '', false],
  ['identity;q=0.5, gzip;q=0.5', 'gzip', false],
  ['identity;q=0, gzip', 'gzip', true],
  ['identity;q=0, *', 'br', true],
  ['*;q=0, gzip', 'gzip', true],
  // Invalid elements are ignored.
  ['gzip;q=2', '', false],
  ['gzip;q=-1, br;q=0.1234', '', false],
  ['gzip;level=9, br', 'br', false],
  [';q=1,,, gzip;q=', '', false],
  ['g zip', '', false],
  // The first of two equal elements wins.
  ['gzip;q=0, gzip', '', false],
] as const)('%j → %j', (header, encoding, refusesIdentity) => {
  expect(acceptedEncoding(header)).toEqual({ encoding, refusesIdentity });
});

test('only what is on offer is chosen', () => {
  expect(acceptedEncoding('br, gzip', ['gzip', '']).encoding).toBe('gzip');
  expect(acceptedEncoding('br, gzip', ['']).encoding).toBe('');
});

test.each([
  ['W/"a"', true],
  ['"a"', true],
  ['"b", W/"a"', true],
  ['*', true],
  ['', false],
  ['a', false],
  ['"b"', false],
  ['W/"A"', false],
])('If-None-Match: %s', (header, expected) => {
  expect(namesTag(header, 'W/"a"')).toBe(expected);
});
