/** The exchange's client, without dependencies. A bundle contains only the routes it uses. */
export * from './amounts.js';
export { Api, type ApiOptions, type CallOptions, type CsvPage, pages, randomKey } from './api.js';
export { ConnectionError, ExchangeError, isRefusal } from './errors.js';
export type { Retries } from './retries.js';
export * from './routes.js';
export * from './stream/account.js';
export * from './stream/book.js';
export type { Subscriber } from './stream/channel.js';
export * from './stream/markets.js';
export type * from './stream/messages.js';
export * from './stream/order-entry.js';
export { type Socket, Stream, type StreamOptions } from './stream/stream.js';
export type * from './terms.js';
