/**
 * A bare TCP connection to an exchange, for requests that no HTTP client would send, and their
 * answers.
 */
import { connect, type Socket } from 'node:net';
import { eventually } from './eventually.js';

export interface RawAnswer {
  status: number;
  /** The headers, with names in lower case. */
  headers: Record<string, string>;
  text: string;
}

export class RawConnection {
  /** Everything that has been received. */
  received = '';
  isClosed = false;
  private readonly socket: Socket;

  /** `url`: for example http://127.0.0.1:3000. */
  constructor(url: string) {
    const { hostname, port } = new URL(url);
    this.socket = connect({ host: hostname, port: Number(port), noDelay: true });
    this.socket.setEncoding('latin1');
    this.socket.on('data', (text: string) => {
      this.received += text;
    });
    // Some tests expect a reset, so it is not an error.
    this.socket.on('error', () => {});
    this.socket.on('close', () => {
      this.isClosed = true;
    });
  }

  /** Resolves when the data has been passed to the operating system. */
  send(text: string | Buffer): Promise<void> {
    return new Promise((resolve) => this.socket.write(text, () => resolve()));
  }

  pause(): void {
    this.socket.pause();
  }

  resume(): void {
    this.socket.resume();
  }

  leave(): void {
    this.socket.destroy();
  }

  closed(): Promise<void> {
    return eventually(() => this.isClosed);
  }

  /** Resolves to the complete answers once there are at least `count`. */
  async answers(count: number): Promise<RawAnswer[]> {
    await eventually(() => parseAnswers(this.received).length >= count);
    return parseAnswers(this.received);
  }
}

/** Parses the complete answers at the start of a text. Throws if the text is not HTTP. */
export function parseAnswers(text: string): RawAnswer[] {
  const answers: RawAnswer[] = [];
  for (let at = 0; at < text.length; ) {
    const headEnd = text.indexOf('\r\n\r\n', at);
    if (headEnd < 0) break;
    const [first, ...lines] = text.slice(at, headEnd).split('\r\n');
    const status = /^HTTP\/1\.1 (\d{3}) /.exec(first!)?.[1];
    if (status === undefined) throw new Error(`not a status line: ${first}`);
    const headers: Record<string, string> & { connection?: string } = Object.fromEntries(
      lines.map((line) => {
        const colon = line.indexOf(':');
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
      }),
    );
    // An answer that uWebSockets.js itself generates ends with the connection.
    const bodyStart = headEnd + 4;
    const length =
      headers['content-length'] ?? (headers.connection === 'close' ? text.length - bodyStart : 0);
    const bodyEnd = bodyStart + Number(length);
    if (bodyEnd > text.length) break;
    answers.push({ status: Number(status), headers, text: text.slice(bodyStart, bodyEnd) });
    at = bodyEnd;
  }
  return answers;
}

export function requestText(
  method: string,
  path: string,
  headers: Record<string, string> = {},
  body?: string,
): string {
  const all: Record<string, string> = { host: 'exchange', ...headers };
  if (body !== undefined) {
    all['content-type'] ??= 'application/json';
    all['content-length'] ??= `${Buffer.byteLength(body)}`;
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} /api${path} HTTP/1.1\r\n${lines.join('')}\r\n${body ?? ''}`;
}
