/** The messages of the server, as JSON text. messages.ts has their schemas. */
import type { ErrorAnswer } from '../../http/errors.js';

/** The command after which a message is true. */
export interface Stamp {
  sequence: number;
  atMs: number;
}

/** `"id":…,` of the request that a message answers; empty: it has none, or answers none. */
export type IdField = string;

export function idField(id: string | undefined): IdField {
  return id === undefined ? '' : `"id":${JSON.stringify(id)},`;
}

interface ChannelState {
  readonly name: string;
  readonly lastSequence: number;
}

/**
 * `data`: JSON of the channel's whole state (snapshot) or of one command's changes (delta).
 * `fields`: more fields, each with a comma behind.
 */
export function channelText(
  type: 'snapshot' | 'delta',
  channel: ChannelState,
  { sequence, atMs }: Stamp,
  data: string,
  fields: IdField = '',
): string {
  return (
    `{"type":"${type}",${fields}"channel":"${channel.name}","channelSequence":${channel.lastSequence}` +
    `,"sequence":${sequence},"atMs":${atMs},"data":${data}}`
  );
}

/** The last message of a channel. */
export function closedText(channel: ChannelState, { sequence, atMs }: Stamp): string {
  return (
    `{"type":"closed","channel":"${channel.name}","channelSequence":${channel.lastSequence}` +
    `,"sequence":${sequence},"atMs":${atMs}}`
  );
}

/** Sent before the missed messages (`resumed`), or before a snapshot instead of them (`gap`). */
export function resumeText(
  type: 'resumed' | 'gap',
  channel: ChannelState,
  after: number,
  { sequence, atMs }: Stamp,
  id: IdField = '',
): string {
  return (
    `{"type":"${type}",${id}"channel":"${channel.name}","after":${after}` +
    `,"channelSequence":${channel.lastSequence},"sequence":${sequence},"atMs":${atMs}}`
  );
}

/** Sent after messages from the journal: everything up to number `through` was sent. */
export function replayedText(
  name: string,
  through: number,
  { sequence, atMs }: Stamp,
  id: IdField = '',
): string {
  return (
    `{"type":"replayed",${id}"channel":"${name}","channelSequence":${through}` +
    `,"sequence":${sequence},"atMs":${atMs}}`
  );
}

export function heartbeatText(channels: Iterable<ChannelState>, { sequence, atMs }: Stamp): string {
  const sequences = Array.from(channels, ({ name, lastSequence }) => `"${name}":${lastSequence}`);
  return `{"type":"heartbeat","sequence":${sequence},"atMs":${atMs},"channels":{${sequences.join(',')}}}`;
}

export function authenticatedText(
  userId: number,
  cancelOnDisconnect: boolean,
  id: IdField = '',
): string {
  return `{"type":"authenticated",${id}"userId":"u${userId}","cancelOnDisconnect":${cancelOnDisconnect}}`;
}

export function unsubscribedText(channels: readonly string[], id: IdField = ''): string {
  return `{"type":"unsubscribed",${id}"channels":${JSON.stringify(channels)}}`;
}

export function pongText({ sequence, atMs }: Stamp, id: IdField = ''): string {
  return `{"type":"pong",${id}"sequence":${sequence},"atMs":${atMs}}`;
}

/** What an error answers. */
export interface ErrorSource {
  id?: string | undefined;
  /** The channel of a request for several that the error is about. */
  channel?: string | undefined;
}

/** An error with the same code, message and details as over HTTP. */
export function errorText({ text }: ErrorAnswer, { id, channel }: ErrorSource = {}): string {
  const about = channel === undefined ? '' : `"channel":${JSON.stringify(channel)},`;
  return `{"type":"error",${idField(id)}${about}${text.slice(ERROR_FROM, -1)}`;
}

/** `text` of an ErrorAnswer is `{"error":{…}}`. */
const ERROR_FROM = '{"error":{'.length;
