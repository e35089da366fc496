/**
 * A bare TCP connection to an exchange, for what no HTTP client would do; and the answers that came
 * on it.
 */
import { connect, type Socket } from 'node:net';
import { eventually } from './eventually.js';

export interface RawAnswer {
  status: number;
  /** Names in lower case. */
  headers: Record<string, string>;
  text: string;
}

export class RawConnection {
  /** All that came. */
  received = '';
  isClosed = false;
  private readonly socket: Socket;

  /** `url`: such as http://127.0.0.1:3000. */
  constructor(url: string) {
    const { hostname, port } = new URL(url);
    this.socket = connect({ host: hostname, port: Number(port), noDelay: true });
    this.socket.setEncoding('latin1');
    this.socket.on('data', (text: string) => {
      this.received += text;
    });
    // An end that the other side did not wait for is one of the ends that tests look for.
    this.socket.on('error', () => {});
    this.socket.on('close', () => {
      this.isClosed = true;
    });
  }

  /** Resolves when it is written to the system. */
  send(text: string | Buffer): Promise<void> {
    return new Promise((resolve) => this.socket.write(text, () => resolve()));
  }

  /** Reads nothing from now on. */
  pause(): void {
    this.socket.pause();
  }

  /** Goes, without a word. */
  leave(): void {
    this.socket.destroy();
  }

  closed(): Promise<void> {
    return eventually(() => this.isClosed);
  }

  /** Resolves when at least so many whole answers have come. */
  async answers(count: number): Promise<RawAnswer[]> {
    await eventually(() => parseAnswers(this.received).length >= count);
    return parseAnswers(this.received);
  }
}

/** The whole answers at the start of a text; throws at what is none. */
export function parseAnswers(text: string): RawAnswer[] {
  const answers: RawAnswer[] = [];
  for (let at = 0; at < text.length; ) {
    const headEnd = text.indexOf('\r\n\r\n', at);
    if (headEnd < 0) break;
    const [first, ...lines] = text.slice(at, headEnd).split('\r\n');
    const status = /^HTTP\/1\.1 (\d{3}) /.exec(first!)?.[1];
    if (status === undefined) throw new Error(`not the beginning of an answer: ${first}`);
    const headers: Record<string, string> & { connection?: string } = Object.fromEntries(
      lines.map((line) => {
        const colon = line.indexOf(':');
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
      }),
    );
    // What uWebSockets.js answers by itself ends with the connection.
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

/** A request as text. */
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
