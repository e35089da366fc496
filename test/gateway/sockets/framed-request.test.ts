/**
 * A request that went through a frame is the request that a socket thread has read: every header
 * that request.ts reads, whatever their number, order and values, path parameters and address.
 */

import type { HttpRequest } from 'uWebSockets.js';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { Random } from '../../../bench/workload/random.js';
import { Request } from '../../../gateway/http/request.js';
import { encodeRequest, FramedRequest } from '../../../gateway/sockets/framed-request.js';
import { FrameBuilder, HEADER_NAMES } from '../../../gateway/sockets/ring-frames.js';
import { SEED } from '../../support/extent.js';

const VALUES = [
  '',
  'chunked',
  '5',
  '007',
  'abc',
  '"k-1"',
  'gzip, br',
  '*',
  'null',
  'ü – ☃',
  '�',
  ' ',
];
const PROXIED = ['203.0.113.9', '::1', '10.0.0.1, 198.51.100.7', 'unknown'];
/** What a request is without its headers that nothing asks for. */
const LEFT_OUT = ['host', 'contentLength', 'number', 'id'];

test('a frame has room for every header that a request has', () => {
  const source = readFileSync(new URL('../../../gateway/http/request.ts', import.meta.url), 'utf8');
  const read = [...source.matchAll(/(?:case|name ===) '([a-z-]+)'/g)].map(([, name]) => name!);
  expect(read.length).toBeGreaterThan(20);
  expect([...HEADER_NAMES].sort()).toEqual([...new Set(read)].sort());
});

test('600 random requests are the same after a frame', () => {
  const random = new Random(SEED);
  const builder = new FrameBuilder();
  let hosts = 0;
  let ambiguous = 0;
  for (let i = 0; i < 600; i++) {
    const headers = Array.from({ length: random.whole(0, 12) }, () => randomHeader(random));
    const parameters = Array.from({ length: random.whole(0, 2) }, () => random.pick(VALUES));
    const address = Uint8Array.from({ length: random.pick([0, 4, 16]) }, () =>
      random.whole(0, 255),
    );
    const raw = rawOf(headers, parameters, random.pick(['', 'a=1', 'a=%C3%BC&b=☃']));
    const trustProxy = random.chance(0.5);
    const request = new Request(raw, random.pick(['get', 'head', 'propfind']), trustProxy);
    const place = random.whole(0, 100_000);
    const number = random.whole(0, 2 ** 32 - 1);
    const kind = { handler: random.whole(0, 0xffff), parameters: parameters.length, isAny: true };
    encodeRequest({ builder, place, number, request, raw, address, ...kind });
    const body = Buffer.from(random.pick(VALUES));
    const bytes = Buffer.concat([Buffer.alloc(8), builder.bytes.subarray(0, builder.length), body]);

    const framed = new FramedRequest(bytes);
    framed.open(8, bytes.length);
    expect(framed).toMatchObject({ handler: kind.handler, place, number });
    expect(Buffer.from(framed.body)).toEqual(body);
    expect(new Uint8Array(framed.address)).toEqual(address);
    for (let at = 0; at < 3; at++) expect(framed.getParameter(at)).toBe(parameters[at]);
    for (const name of HEADER_NAMES.slice(0, -2))
      expect(framed.getHeader(name)).toBe(raw.getHeader(name));
    const again = new Request(framed, framed.getMethod(), trustProxy);
    expect(seen(again)).toEqual(seen(request));
    if (request.cookie !== '' || request.origin !== '' || request.problems !== null) {
      expect(again.host).toBe(request.host);
      if (request.host !== '') hosts++;
    }
    if (request.problems !== null) ambiguous++;
  }
  expect(hosts).toBeGreaterThan(20);
  expect(ambiguous).toBeGreaterThan(20);
});

function randomHeader(random: Random): [string, string] {
  const name = random.chance(0.9) ? random.pick(HEADER_NAMES) : 'x-unknown';
  return [name, random.pick(name.startsWith('x-forwarded') ? PROXIED : VALUES)];
}

/** As uWebSockets.js gives it. */
function rawOf(headers: [string, string][], parameters: string[], query: string): HttpRequest {
  const raw = {
    getQuery: () => query,
    getParameter: (index: number) => parameters[index],
    getHeader: (wanted: string) =>
      headers.find(([name, value]) => name === wanted && value !== '')?.[1] ?? '',
    forEach: (read: (name: string, value: string) => void) => {
      for (const [name, value] of headers) read(name, value);
    },
  };
  return raw as unknown as HttpRequest;
}

function seen(request: Request): object {
  return Object.fromEntries(Object.entries(request).filter(([name]) => !LEFT_OUT.includes(name)));
}
