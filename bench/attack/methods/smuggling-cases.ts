/**
 * Raw requests that hide another request: in a body whose length is told in two ways, behind a last
 * chunk, in a trailer. A proxy and the server behind it that read such bytes differently would
 * execute, on a connection that many clients share, a request that nobody checked.
 *
 * Always holds: a case is bytes and what must become of them, and nothing of the exchange; {@link
 * sendRaw} plays it against any address. What is hidden is a whole request of the caller's, of
 * which the caller knows whether it was executed.
 */
import { connect } from 'node:net';

/** What must become of a case. */
export type RawExpectation =
  /** At most one answer, which is an error, and the connection ends. */
  | 'refused'
  /** At most one answer, to the outer request, which is the last of its connection. */
  | 'alone'
  /**
   * No answer: the bytes are never a request, and the library ends the connection after ten
   * seconds.
   */
  | 'ignored'
  /**
   * What is hidden is executed: the library does not tell the gateway what it did with the bytes. A
   * proxy in front refuses, drops or rewrites them.
   */
  | 'library';

export interface RawCase {
  name: string;
  expected: RawExpectation;
  /** The header lines of the outer request, besides its Host, each with its line end. */
  headers: (hidden: string) => string;
  /** What follows the headers. Each character is one byte. */
  body: (hidden: string) => string;
}

/** The outer request: one for each way in which the exchange takes requests. */
export interface Carrier {
  method: string;
  path: string;
}

const length = (hidden: string) => `${hidden.length}`;
const itself = (hidden: string) => hidden;
const chunked = (lines = 'Transfer-Encoding: chunked\r\n') => ({ headers: () => lines });
/** The end of a body in chunks. */
const LAST = '0\r\n\r\n';

function lengths(name: string, ...values: ((hidden: string) => string)[]): RawCase {
  const headers = (hidden: string) =>
    values.map((value) => `Content-Length: ${value(hidden)}\r\n`).join('');
  return { name, expected: 'refused', headers, body: itself };
}

function oddLength(value: string): RawCase {
  return lengths(`Content-Length: ${JSON.stringify(value)}`, () => value);
}

function codings(name: string, ...values: string[]): RawCase {
  const lines = values.map((value) => `Transfer-Encoding: ${value}\r\n`).join('');
  return { name, expected: 'refused', ...chunked(lines), body: (hidden) => LAST + hidden };
}

function oddChunks(name: string, body: (hidden: string) => string): RawCase {
  return { name, expected: 'alone', ...chunked(), body };
}

/**
 * Of the outer request's length, or of how its body is coded. All are refused, whatever the
 * carrier.
 */
export const FRAMING_CASES: readonly RawCase[] = [
  lengths('two lengths, 0 first', () => '0', length),
  lengths('two lengths, 0 last', length, () => '0'),
  lengths(
    'three lengths, of which two agree',
    () => '0',
    length,
    () => '0',
  ),
  ...[
    '',
    '+5',
    '-5',
    '5, 5',
    '0x5',
    '5.0',
    '5e1',
    '5 5',
    '9'.repeat(19),
    '184467440737095516160',
    '\xb2',
  ].map(oddLength),
  codings('identity', 'identity'),
  codings('an unknown coding', 'xchunked'),
  codings('two codings in one header', 'chunked, identity'),
  codings('chunked twice in one header', 'chunked, chunked'),
  codings('two codings in two headers', 'chunked', 'identity'),
  codings('chunked in two headers', 'chunked', 'chunked'),
  codings('an empty coding before chunked', '', 'chunked'),
  codings('a coding of non-ASCII bytes before chunked', '\x80', 'chunked'),
  codings('chunked with a parameter', 'chunked;q=1'),
  codings('chunked in quotes', '"chunked"'),
  codings('chunked in upper case', 'CHUNKED'),
  {
    name: 'a length and chunks',
    expected: 'refused',
    headers: (hidden) =>
      `Content-Length: ${hidden.length + LAST.length}\r\nTransfer-Encoding: chunked\r\n`,
    body: (hidden) => LAST + hidden,
  },
  {
    name: 'chunks and a length of 0',
    expected: 'refused',
    headers: () => 'Transfer-Encoding: chunked\r\nContent-Length: 0\r\n',
    body: itself,
  },
  {
    name: 'an empty coding and a length',
    expected: 'refused',
    headers: () => 'Transfer-Encoding:\r\nContent-Length: 0\r\n',
    body: itself,
  },
  {
    name: 'an announced trailer',
    expected: 'refused',
    headers: () => 'Transfer-Encoding: chunked\r\nTrailer: A\r\n',
    body: (hidden) => `0\r\nA:${hidden}`,
  },
];

/**
 * Bodies in chunks that readers cut differently. Where a body is taken, the outer request is the
 * last of its connection; some wait for more, so the client has to leave.
 */
export const CHUNK_CASES: readonly RawCase[] = [
  oddChunks('a request in the trailer', (hidden) => `0\r\nA:${hidden}`),
  oddChunks('a request behind the last chunk', (hidden) => LAST + hidden),
  oddChunks('a last chunk without its end', (hidden) => `0\r\n..${hidden}`),
  oddChunks('a chunk without its end', (hidden) => `2\r\n{}..0\r\n..${hidden}`),
  oddChunks('LF in place of CRLF', (hidden) => `2\n{}\r\n0\n\r\n${hidden}`),
  oddChunks('an extension', (hidden) => `2;a=b\r\n{}\r\n${LAST}${hidden}`),
  oddChunks('an extension with LF', (hidden) => `2;a\n{}\r\n${LAST}${hidden}`),
  oddChunks('a size that is empty', (hidden) => `\r\n\r\n${hidden}`),
  oddChunks('a space before the size', (hidden) => ` 2\r\n{}\r\n${LAST}${hidden}`),
];

/** Bytes that are not a valid request. */
export interface RawRequest {
  name: string;
  expected: 'refused' | 'ignored';
  bytes: (hidden: string) => string;
}

const GET = (lines: string) => `GET /api/health HTTP/1.1\r\n${lines}\r\n`;

export const REQUEST_CASES: readonly RawRequest[] = [
  {
    name: 'a target with a scheme',
    expected: 'refused',
    bytes: () => 'GET http://x/api/health HTTP/1.1\r\nHost: x\r\n\r\n',
  },
  {
    name: 'a target of *',
    expected: 'refused',
    bytes: () => 'OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n',
  },
  { name: 'CONNECT', expected: 'refused', bytes: () => 'CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n' },
  {
    name: 'NUL in the path',
    expected: 'refused',
    bytes: () => 'GET /api/health\0 HTTP/1.1\r\nHost: x\r\n\r\n',
  },
  {
    name: 'a space in the path',
    expected: 'refused',
    bytes: () => 'GET /api/he alth HTTP/1.1\r\nHost: x\r\n\r\n',
  },
  {
    name: 'HTTP/1.0',
    expected: 'refused',
    bytes: () => 'GET /api/health HTTP/1.0\r\nHost: x\r\n\r\n',
  },
  {
    name: 'HTTP/2.0',
    expected: 'refused',
    bytes: () => 'GET /api/health HTTP/2.0\r\nHost: x\r\n\r\n',
  },
  {
    name: 'lines that end with LF',
    expected: 'refused',
    bytes: () => 'GET /api/health HTTP/1.1\nHost: x\n\n',
  },
  { name: 'two hosts', expected: 'refused', bytes: () => GET('Host: x\r\nHost: y\r\n') },
  { name: 'no host', expected: 'refused', bytes: () => GET('Accept: */*\r\n') },
  { name: 'no header', expected: 'ignored', bytes: () => GET('') },
  {
    name: 'a header on two lines',
    expected: 'ignored',
    bytes: () => GET('Host: x\r\nA: 1\r\n 2\r\n'),
  },
  {
    name: 'a space before the colon',
    expected: 'ignored',
    bytes: (hidden) => `${GET(`Host: x\r\nContent-Length : ${hidden.length}\r\n`)}${hidden}`,
  },
  {
    name: 'a tab before the colon',
    expected: 'ignored',
    bytes: (hidden) => `${GET('Host: x\r\nTransfer-Encoding\t: chunked\r\n')}${LAST}${hidden}`,
  },
  { name: 'NUL in a header', expected: 'ignored', bytes: () => GET('Host: x\r\nA: 1\x002\r\n') },
  {
    name: 'CR in a header',
    expected: 'ignored',
    bytes: () => GET('Host: x\rContent-Length: 5\r\n'),
  },
  {
    name: 'a header name of non-ASCII bytes',
    expected: 'ignored',
    bytes: () => GET('Host: x\r\n\xe9: 1\r\n'),
  },
];

/**
 * What the library makes of bytes without a word to the gateway. An upgrade that mends one fails
 * the test of this table.
 */
export const LIBRARY_CASES: readonly RawCase[] = [
  {
    name: 'a header without a name hides those behind it',
    expected: 'library',
    headers: (hidden) => `: x\r\nContent-Length: ${hidden.length}\r\n`,
    body: itself,
  },
  {
    name: 'a length that ends with a non-ASCII byte is the number before it',
    expected: 'library',
    headers: () => 'Content-Length: 0\x80\r\n',
    body: itself,
  },
];

/**
 * Idempotency keys that are none. The first two look like the key `1` to the gateway; in quotes,
 * nothing of a key is lost.
 */
export const KEY_CASES: readonly { name: string; key: string; expected: 'refused' | 'library' }[] =
  [
    { name: 'a key that ends with non-ASCII bytes', key: '1\xe2\x82\xac', expected: 'library' },
    { name: 'a key that begins with non-ASCII bytes', key: '\xe2\x82\xac1', expected: 'library' },
    { name: 'a key with non-ASCII bytes inside', key: '1\xe2\x82\xac1', expected: 'refused' },
    {
      name: 'a quoted key that ends with non-ASCII bytes',
      key: '"1\xe2\x82\xac"',
      expected: 'refused',
    },
    {
      name: 'a quoted key that begins with non-ASCII bytes',
      key: '"\xe2\x82\xac1"',
      expected: 'refused',
    },
    { name: 'nothing but non-ASCII bytes', key: '\xe2\x82\xac', expected: 'refused' },
  ];

/** The bytes of a case, carried by a request. */
export function rawBytes(
  { headers, body }: RawCase,
  { method, path }: Carrier,
  hidden: string,
): string {
  return `${method} ${path} HTTP/1.1\r\nHost: exchange\r\n${headers(hidden)}\r\n${body(hidden)}`;
}

/** What came back on the connection until it ended. */
export interface RawOutcome {
  /** Of the answers, in order. */
  statuses: number[];
  received: string;
}

const NEVER_MS = 30_000;

/**
 * Sends the packets, each a text of bytes, on a connection of its own; resolves when that has
 * ended. `leaves`: the client ends its side after the last, so that a server that waits for more
 * ends the connection, too.
 * @throws Error when the connection does not end within half a minute.
 */
export function sendRaw(
  port: number,
  packets: readonly string[],
  leaves: boolean,
): Promise<RawOutcome> {
  return new Promise((resolve, reject) => {
    let received = '';
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    const timer = setTimeout(
      () => socket.destroy(new Error('the connection did not end')),
      NEVER_MS,
    );
    let failure: Error | null = null;
    socket.setEncoding('latin1');
    socket.on('data', (text: string) => (received += text));
    socket.on('error', (error: NodeJS.ErrnoException) => {
      // A reset is an end like another.
      if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') failure = error;
    });
    socket.on('close', () => {
      clearTimeout(timer);
      const statuses = [...received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((match) =>
        Number(match[1]),
      );
      if (failure === null) resolve({ statuses, received });
      else reject(failure);
    });
    const send = (next: number): void => {
      if (next < packets.length)
        socket.write(Buffer.from(packets[next]!, 'latin1'), () => send(next + 1));
      else if (leaves) socket.end();
    };
    send(0);
  });
}
