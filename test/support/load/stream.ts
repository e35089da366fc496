/**
 * A client's connection to the stream. It sends orders, and reports each message about its user's
 * balance and about the books of markets.
 *
 * Invariant: an order is answered, or its promise is rejected when the connection ends.
 */
import { WebSocket } from 'ws';
import { ERRORS, type ErrorCode } from '../../../gateway/commands/errors.js';
import { type Book, balanceText, bookText, type Seen } from './observation.js';

export interface Answer {
  status: number;
  text: string;
  isReplayed: boolean;
}

interface Waiting {
  resolve(answer: Answer): void;
  reject(error: Error): void;
}

const SIDES = [
  ['UP', 'bids'],
  ['UP', 'asks'],
  ['DOWN', 'bids'],
  ['DOWN', 'asks'],
] as const;

export class StreamConnection {
  private readonly waiting = new Map<string, Waiting>();
  private readonly books = new Map<string, Book>();
  private readonly followed = new Set<string>();
  private count = 0;

  private constructor(
    private readonly socket: WebSocket,
    private readonly seen: (seen: Seen) => void,
  ) {
    socket.on('message', (data) => this.take(data.toString()));
    socket.on('close', () => {
      for (const { reject } of this.waiting.values()) reject(new Error('the connection is lost'));
    });
  }

  /** `url`: the address of the API. */
  static open(url: string, token: string, seen: (seen: Seen) => void): Promise<StreamConnection> {
    const headers = { 'x-user-token': token };
    const socket = new WebSocket(`${url.replace('http', 'ws')}/stream`, { headers });
    return new Promise((resolve, reject) => {
      socket.on('error', reject);
      socket.once('open', () => {
        const connection = new StreamConnection(socket, seen);
        connection.subscribe('user');
        resolve(connection);
      });
    });
  }

  get isOpen(): boolean {
    return this.socket.readyState === WebSocket.OPEN;
  }

  ask(message: object): Promise<Answer> {
    const id = `${++this.count}`;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.socket.send(JSON.stringify({ ...message, id }));
    });
  }

  /** Subscribes to a market's book, once. */
  follow(marketId: string): void {
    if (marketId === '' || this.followed.has(marketId)) return;
    this.followed.add(marketId);
    this.subscribe(`book:${marketId}`);
  }

  close(): void {
    this.socket.close();
  }

  private subscribe(channel: string): void {
    this.socket.send(JSON.stringify({ op: 'subscribe', channels: [channel] }));
  }

  private take(text: string): void {
    const message = JSON.parse(text);
    if (message.type === 'snapshot' || message.type === 'delta') this.observe(message);
    if (message.type !== 'receipt' && message.type !== 'error') return;
    const waiting = this.waiting.get(message.id);
    this.waiting.delete(message.id);
    waiting?.resolve(message.type === 'error' ? refusalOf(message) : receiptOf(text, message));
  }

  // biome-ignore lint/suspicious/noExplicitAny: the stream's tests check the shape of messages
  private observe({ type, channel, sequence, data }: any): void {
    if (channel === 'user') {
      this.seen({ what: data.userId, sequence, value: balanceText(data.balance) });
      return;
    }
    const what: string = data.marketId;
    const book = this.books.get(what);
    // Nothing changes between two messages, so the last book was valid until right before this one.
    if (book !== undefined) this.seen({ what, sequence: sequence - 1, value: bookText(book) });
    const next = type === 'snapshot' ? data : changed(book!, data);
    this.books.set(what, next);
    this.seen({ what, sequence, value: bookText(next) });
  }
}

/** Removes the stream's envelope: the receipt inside equals HTTP's. */
function receiptOf(text: string, { replayed }: { replayed: boolean }): Answer {
  const envelope = /^\{"type":"receipt","id":"\d+","replayed":(?:true|false),/.exec(text)![0];
  return { status: 200, text: `{${text.slice(envelope.length)}`, isReplayed: replayed };
}

/** The stream does not report whether a refusal is repeated, so the judge allows both. */
function refusalOf(error: { code: ErrorCode; message: string; details: object }): Answer {
  const { code, message, details } = error;
  const text = JSON.stringify({ error: { code, message, details } });
  return { status: ERRORS[code].status, text, isReplayed: true };
}

function changed(book: Book, change: Book): Book {
  const next = structuredClone(book);
  for (const [outcome, side] of SIDES) {
    const levels = new Map(book[outcome][side].map((level) => [level.price, level]));
    for (const level of change[outcome][side]) {
      if (level.shares === 0) levels.delete(level.price);
      else levels.set(level.price, level);
    }
    const sign = side === 'bids' ? -1 : 1;
    next[outcome][side] = [...levels.values()].sort((a, b) => sign * (a.price - b.price));
  }
  return next;
}
