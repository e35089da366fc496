/**
 * Raw requests that hide another request: in a body with two lengths, after a last chunk, in a
 * trailer. If a proxy and a server read such bytes differently, they execute an unchecked request,
 * on a connection shared by many clients.
 *
 * Invariant: a case consists of bytes and their expected outcome. {@link sendRaw} sends them to a
 * local server. The hidden text is a whole request, and the caller checks whether it was executed.
 */
import { connect } from 'node:net';
import { HOST } from '../../support/http/messages.js';

export type RawExpectation =
  /** At most one answer, which is an error, and the connection ends. */
  | 'refused'
  /** At most one answer, to the outer request, which is the last of its connection. */
  | 'alone'
  /** No answer: the bytes are never a request, and the library closes after ten seconds. */
  | 'ignored'
  /** The hidden request is executed: only a proxy sees these bytes, not the gateway. */
  | 'library';

export interface RawCase {
  name: string;
  expected: RawExpectation;
  /** Header lines of the outer request after its Host, each with its line end. */
  headers: (hidden: string) => string;
  /** The text after the headers. Each character is one byte. */
  body: (hidden: string) => string;
}

/** The outer request: one for each way in which the exchange receives requests. */
export interface Carrier {
  method: string;
  path: string;
}

const length = (hidden: string) => `${hidden.length}`;
const itself = (hidden: string) => hidden;
const LAST = '0\r\n\r\n';

const zero = () => '0';

function framed(name: string, headers: RawCase['headers'], body = itself): RawCase {
  return { name, expected: 'refused', headers, body };
}

function lengths(name: string, ...values: ((hidden: string) => string)[]): RawCase {
  return framed(name, (hidden) =>
    values.map((value) => `Content-Length: ${value(hidden)}\r\n`).join(''),
  );
}

function oddLength(value: string): RawCase {
  return lengths(`Content-Length: ${JSON.stringify(value)}`, () => value);
}

function codings(name: string, ...values: string[]): RawCase {
  const lines = values.map((value) => `Transfer-Encoding: ${value}\r\n`).join('');
  return framed(
    name,
    () => lines,
    (hidden) => LAST + hidden,
  );
}

function oddChunks(name: string, body: (hidden: string) => string): RawCase {
  return { name, expected: 'alone', headers: () => 'Transfer-Encoding: chunked\r\n', body };
}

/** Cases about the outer request's length or coding. Every carrier is refused. */
export const FRAMING_CASES: readonly RawCase[] = [
  lengths('two lengths, 0 first', zero, length),
  lengths('two lengths, 0 last', length, zero),
  lengths('three lengths, of which two agree', zero, length, zero),
  ...['', '+5', '-5', '5, 5', '0x5', '5.0', '5e1', '5 5', '\xb2'].map(oddLength),
  ...['9'.repeat(19), '184467440737095516160'].map(oddLength),
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
  framed(
    'a length and chunks',
    (hidden) => `Content-Length: ${hidden.length + LAST.length}\r\nTransfer-Encoding: chunked\r\n`,
    (hidden) => LAST + hidden,
  ),
  framed('chunks and a length of 0', () => 'Transfer-Encoding: chunked\r\nContent-Length: 0\r\n'),
  framed('an empty coding and a length', () => 'Transfer-Encoding:\r\nContent-Length: 0\r\n'),
  framed(
    'an announced trailer',
    () => 'Transfer-Encoding: chunked\r\nTrailer: A\r\n',
    (hidden) => `0\r\nA:${hidden}`,
  ),
];

/**
 * Chunked bodies that readers delimit differently. If the body is read, the outer request is the
 * last of its connection. Some cases never end, so the client has to leave.
 */
export const CHUNK_CASES: readonly RawCase[] = [
  oddChunks('a request in the trailer', (hidden) => `0\r\nA:${hidden}`),
  oddChunks('a request after the last chunk', (hidden) => LAST + hidden),
  oddChunks('a last chunk without its end', (hidden) => `0\r\n..${hidden}`),
  oddChunks('a chunk without its end', (hidden) => `2\r\n{}..0\r\n..${hidden}`),
  oddChunks('LF in place of CRLF', (hidden) => `2\n{}\r\n0\n\r\n${hidden}`),
  oddChunks('an extension', (hidden) => `2;a=b\r\n{}\r\n${LAST}${hidden}`),
  oddChunks('an extension with LF', (hidden) => `2;a\n{}\r\n${LAST}${hidden}`),
  oddChunks('a size that is empty', (hidden) => `\r\n\r\n${hidden}`),
  oddChunks('a space before the size', (hidden) => ` 2\r\n{}\r\n${LAST}${hidden}`),
];

export interface RawRequest {
  name: string;
  expected: 'refused' | 'ignored';
  bytes: (hidden: string) => string;
}

const GET = (lines: string) => `GET /api/health HTTP/1.1\r\n${lines}\r\n`;
const line = (requestLine: string) => `${requestLine}\r\nHost: x\r\n\r\n`;

const request = (
  expected: RawRequest['expected'],
  name: string,
  bytes: string | RawRequest['bytes'],
): RawRequest => ({ name, expected, bytes: typeof bytes === 'string' ? () => bytes : bytes });

export const REQUEST_CASES: readonly RawRequest[] = [
  request('refused', 'a target with a scheme', line('GET http://x/api/health HTTP/1.1')),
  request('refused', 'a target of *', line('OPTIONS * HTTP/1.1')),
  request('refused', 'CONNECT', line('CONNECT x:80 HTTP/1.1')),
  request('refused', 'NUL in the path', line('GET /api/health\0 HTTP/1.1')),
  request('refused', 'a space in the path', line('GET /api/he alth HTTP/1.1')),
  request('refused', 'HTTP/1.0', line('GET /api/health HTTP/1.0')),
  request('refused', 'HTTP/2.0', line('GET /api/health HTTP/2.0')),
  request('refused', 'lines that end with LF', 'GET /api/health HTTP/1.1\nHost: x\n\n'),
  request('refused', 'two hosts', GET('Host: x\r\nHost: y\r\n')),
  request('refused', 'no host', GET('Accept: */*\r\n')),
  request('ignored', 'no header', GET('')),
  request('ignored', 'a header on two lines', GET('Host: x\r\nA: 1\r\n 2\r\n')),
  request(
    'ignored',
    'a space before the colon',
    (hidden) => `${GET(`Host: x\r\nContent-Length : ${hidden.length}\r\n`)}${hidden}`,
  ),
  request(
    'ignored',
    'a tab before the colon',
    (hidden) => `${GET('Host: x\r\nTransfer-Encoding\t: chunked\r\n')}${LAST}${hidden}`,
  ),
  request('ignored', 'NUL in a header', GET('Host: x\r\nA: 1\x002\r\n')),
  request('ignored', 'CR in a header', GET('Host: x\rContent-Length: 5\r\n')),
  request('ignored', 'a header name of non-ASCII bytes', GET('Host: x\r\n\xe9: 1\r\n')),
];

/** Bytes that the library misreads silently. An upgrade that fixes a case fails its test. */
export const LIBRARY_CASES: readonly RawCase[] = [
  {
    name: 'a header without a name hides those after it',
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

const EURO = '\xe2\x82\xac';

/** Invalid keys. The gateway sees the first two as the key `1`. In quotes, no byte is lost. */
export const KEY_CASES: readonly { name: string; key: string; expected: 'refused' | 'library' }[] =
  [
    { name: 'a key that ends with non-ASCII bytes', key: `1${EURO}`, expected: 'library' },
    { name: 'a key that begins with non-ASCII bytes', key: `${EURO}1`, expected: 'library' },
    { name: 'a key with non-ASCII bytes inside', key: `1${EURO}1`, expected: 'refused' },
    { name: 'a quoted key that ends with them', key: `"1${EURO}"`, expected: 'refused' },
    { name: 'a quoted key that begins with them', key: `"${EURO}1"`, expected: 'refused' },
    { name: 'nothing but non-ASCII bytes', key: EURO, expected: 'refused' },
  ];

export function rawBytes(
  { headers, body }: RawCase,
  { method, path }: Carrier,
  hidden: string,
): string {
  return `${method} ${path} HTTP/1.1\r\nHost: exchange\r\n${headers(hidden)}\r\n${body(hidden)}`;
}

export interface RawOutcome {
  statuses: number[];
  received: string;
}

const NEVER_MS = 30_000;

/**
 * Sends the packets, one byte per character, over a new connection, and waits for its end. If
 * `leaves`, the client then ends its side, so that a server waiting for more ends as well.
 * @throws Error if the connection does not end within half a minute
 */
export function sendRaw(
  port: number,
  packets: readonly string[],
  leaves: boolean,
): Promise<RawOutcome> {
  return new Promise((resolve, reject) => {
    let received = '';
    const socket = connect({ port, host: HOST, noDelay: true });
    const giveUp = () => socket.destroy(new Error('the connection did not end'));
    const timer = setTimeout(giveUp, NEVER_MS);
    let failure: Error | null = null;
    socket.setEncoding('latin1');
    socket.on('data', (text: string) => (received += text));
    socket.on('error', (error: NodeJS.ErrnoException) => {
      // A reset is an ordinary end.
      if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') failure = error;
    });
    socket.on('close', () => {
      clearTimeout(timer);
      const found = [...received.matchAll(/HTTP\/1\.1 (\d{3}) /g)];
      const statuses = found.map(([, status]) => Number(status));
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
