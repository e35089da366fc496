/**
 * The ways in which an operation reaches the exchange: by its own route or in a batch, over HTTP or
 * the stream, in the usual notation, which readers parse from bytes, or in one that only the
 * schemas parse.
 */
import { MARKET, type RequestOptions, type Verb } from '../../support/server.js';
import { Refused, StreamClient } from '../stream/support.js';
import type { Place } from './places.js';

// biome-ignore lint/suspicious/noExplicitAny: tests read answers field by field
export type Json = any;
export type Operation = Record<string, unknown> & { op: string; marketId?: unknown };

/** The part of an answer that is the same over every transport. */
export interface Told {
  /** `undefined` if executed. */
  code: string | undefined;
  message: string | undefined;
  details: Json;
  /** The receipt without fields that depend on the transport or the moment. */
  receipt: Json;
  /** Seconds. Only HTTP has this header. */
  retryAfter?: string | undefined;
  /** The whole answer, over HTTP only, where it does not depend on the transport. */
  text?: string;
  isReplayed: boolean;
}

export interface Sent {
  token: string | undefined;
  operation: Operation;
  key?: string | undefined;
  /** Number of spaces added to the text. */
  padding?: number | undefined;
}

export type Transport = (place: Place, sent: Sent) => Promise<Told>;

interface Field {
  /** Precedes the operation's field names. */
  prefix: string;
}

function told(json: Json, { prefix }: Field, more: Partial<Told> = {}): Told {
  const { code, message, details } = json.error ?? (json.type === 'error' ? json : {});
  const none = { retryAfter: undefined, isReplayed: false };
  if (code === undefined)
    return { code, message, details, receipt: receiptOf(json), ...none, ...more };
  const bare = (text: string) => text.replaceAll(prefix, '');
  const named = Object.entries(details).map(([name, value]) => [bare(name), value]);
  return {
    code,
    message: bare(message),
    details: Object.fromEntries(named),
    receipt: null,
    ...none,
    ...more,
  };
}

/** Fields that depend on the execution, or on the position in a batch. */
const OF_MOMENT = new Set(
  'id type replayed sequence atMs orderId clientOrderId tradeId cancelled balance position'.split(
    ' ',
  ),
);

function receiptOf(json: Json): Json {
  return JSON.parse(
    JSON.stringify(json, (name, value) => (OF_MOMENT.has(name) ? undefined : value)),
  );
}

/** Returns method, path and body of an operation's own route. */
export function routeFor({ op, marketId, ...rest }: Operation): [Verb, string, object] {
  const at = `/markets/15m/${marketId}`;
  const { orderId, clientOrderId, ...terms } = rest;
  const order =
    orderId === undefined
      ? `${at}/orders/by-client-id?clientOrderId=${clientOrderId}`
      : `${at}/orders/${orderId}`;
  switch (op) {
    case 'cancel':
      return ['DELETE', order, terms];
    case 'amend':
      return ['PATCH', order, terms];
    case 'cancelAll':
      return marketId === undefined
        ? ['DELETE', '/users/me/orders', rest]
        : ['DELETE', `${at}/orders`, rest];
    default:
      return ['POST', `${at}/${op}`, rest];
  }
}

function textOf(json: object, padding = 0): string {
  return `${JSON.stringify(json).slice(0, -1)}${' '.repeat(padding)}}`;
}

const SCHEMAS_ONLY = { 'content-type': 'application/json; charset=utf-8' };

async function http(
  { api }: Place,
  [method, path, body]: [Verb, string, object],
  { token, key, padding }: Sent,
  headers: Record<string, string> = {},
) {
  const keyed = key === undefined ? headers : { ...headers, 'idempotency-key': key };
  const options: RequestOptions = { token, headers: keyed, raw: textOf(body, padding) };
  const answer = await api.send(method, path, undefined, options);
  const more = {
    retryAfter: answer.headers['retry-after'] as string | undefined,
    text: answer.text,
    isReplayed: answer.headers['idempotency-replayed'] === 'true',
  };
  return { json: answer.json, more };
}

const route =
  (headers = {}): Transport =>
  async (place, sent) => {
    const { json, more } = await http(place, routeFor(sent.operation), sent, headers);
    return told(json, { prefix: '' }, more);
  };

/** Executed before the operation in an atomic batch. A refusal must undo it. */
const BEFORE = { op: 'split', marketId: MARKET, shares: 1 };
const operationsOf = (operation: Operation, isAtomic: boolean) =>
  isAtomic ? { operations: [BEFORE, operation], atomic: true } : { operations: [operation] };

function toldInBatch(json: Json, isAtomic: boolean, more: Partial<Told>): Told {
  const at = isAtomic ? 1 : 0;
  const answer = told(json.results?.[at] ?? json, { prefix: `operations.${at}.` }, more);
  if (answer.details?.operation === 1) delete answer.details.operation;
  return answer;
}

const batch =
  (headers = {}, isAtomic = false): Transport =>
  async (place, sent) => {
    const body = operationsOf(sent.operation, isAtomic);
    const { json, more } = await http(place, ['POST', '/batch', body], sent, headers);
    return toldInBatch(json, isAtomic, more);
  };

const streams = new Map<string, Promise<StreamClient>>();
let messages = 0;

function streamOf({ port }: Place, token = ''): Promise<StreamClient> {
  const key = `${port} ${token}`;
  const known = streams.get(key);
  if (known !== undefined) return known;
  const opened = StreamClient.connect(port, token === '' ? {} : { 'x-user-token': token });
  streams.set(key, opened);
  return opened;
}

export async function closeStreams(): Promise<void> {
  for (const opened of await Promise.allSettled(streams.values())) {
    if (opened.status === 'rejected') continue;
    opened.value.socket.terminate();
    opened.value.check();
  }
  streams.clear();
}

async function ask(place: Place, sent: Sent, message: object, isPlain: boolean): Promise<Json> {
  const { token, key, padding } = sent;
  const client = await streamOf(place, token).catch((error) => error);
  if (client instanceof Refused) return client.body;
  const id = `m${++messages}`;
  const text = textOf({ ...message, id, idempotencyKey: key }, padding);
  client.socket.send(isPlain ? text : text.replace('"op"', '"\\u006fp"'));
  return client.next((answer: Json) => answer.id === id);
}

const order =
  (isPlain: boolean): Transport =>
  async (place, sent) => {
    const answer = await ask(place, sent, { op: 'order', operation: sent.operation }, isPlain);
    return told(answer, { prefix: 'operation.' }, { isReplayed: answer.replayed === true });
  };

const streamBatch =
  (isPlain: boolean, isAtomic = false): Transport =>
  async (place, sent) => {
    const message = { op: 'batch', ...operationsOf(sent.operation, isAtomic) };
    const answer = await ask(place, sent, message, isPlain);
    return toldInBatch(answer, isAtomic, { isReplayed: answer.replayed === true });
  };

const single = (transport: Transport) => ({ transport, isAtomic: false });
const atomic = (transport: Transport) => ({ transport, isAtomic: true });

export const TRANSPORTS: Record<string, ReturnType<typeof single>> = {
  'its route': single(route()),
  'its route, read by the schemas': single(route(SCHEMAS_ONLY)),
  'a batch': single(batch()),
  'a batch, read by the schemas': single(batch(SCHEMAS_ONLY)),
  'an atomic batch': atomic(batch({}, true)),
  'an order of the stream': single(order(true)),
  'an order of the stream, read by the schemas': single(order(false)),
  'a batch of the stream': single(streamBatch(true)),
  'a batch of the stream, read by the schemas': single(streamBatch(false)),
  'an atomic batch of the stream': atomic(streamBatch(true, true)),
};
