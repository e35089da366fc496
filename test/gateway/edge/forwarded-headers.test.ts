/** An edge passes on all request headers that the core reads. */
import { expect, test } from 'vitest';
import { Request } from '../../../gateway/http/request.js';

const HEADERS = {
  'x-user-token': 'token',
  cookie: 'a=b',
  authorization: 'Bearer key',
  'content-type': 'application/json',
  'content-encoding': 'gzip',
  accept: 'text/csv',
  'accept-encoding': 'br',
  'if-none-match': '"tag"',
  'min-sequence': '7',
  origin: 'https://example.com',
  'sec-fetch-site': 'same-origin',
  host: 'example.com',
  'idempotency-key': 'key',
  'client-sequence': '8',
  'x-forwarded-proto': 'https',
  'x-request-id': 'request-1',
};
/** Fields that are not headers, or are handled at the edge. */
const OF_EDGES = [
  'rawQuery',
  'method',
  'trustProxy',
  'names',
  'first',
  'second',
  'assignedNumber',
  'saysMe',
]
  .concat('accessControlRequestMethod', 'forwardedFor', 'forwardedHost')
  .concat('contentLength', 'isChunked', 'problems');

test('every header that a request has', () => {
  const sent = requestWith(Object.entries(HEADERS));
  const passedOn = Object.entries(sent).filter(([name]) => !OF_EDGES.includes(name));
  // A new header belongs in HEADERS.
  for (const [name, value] of passedOn) expect(value, name).toBeTruthy();
  const flat = sent.headersToForward(false);
  const pairs = flat.flatMap((name, i) => (i % 2 === 0 ? [[name, flat[i + 1]!] as const] : []));
  expect(requestWith(pairs)).toMatchObject(Object.fromEntries(passedOn));
});

function requestWith(headers: readonly (readonly [string, string])[]): Request {
  const raw = {
    getQuery: () => '',
    getParameter: () => undefined,
    forEach: (read: (name: string, value: string) => void) => {
      for (const [name, value] of headers) read(name, value);
    },
  };
  return new Request(raw, 'get', true);
}
