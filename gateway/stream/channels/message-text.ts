/** The messages of the server, as JSON text. messages.ts has their schemas. */
import type { ErrorAnswer } from '../../http/errors.js';

/** The command after which a message is true. */
export interface Stamp {
  sequence: number;
  atMs: number;
}

interface ChannelState {
  readonly name: string;
  readonly lastSequence: number;
}

/** `data`: JSON of the channel's whole state (snapshot) or of one command's changes (delta). */
export function channelText(
  type: 'snapshot' | 'delta',
  channel: ChannelState,
  { sequence, atMs }: Stamp,
  data: string,
): string {
  return (
    `{"type":"${type}","channel":"${channel.name}","channelSequence":${channel.lastSequence}` +
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
): string {
  return (
    `{"type":"${type}","channel":"${channel.name}","after":${after}` +
    `,"channelSequence":${channel.lastSequence},"sequence":${sequence},"atMs":${atMs}}`
  );
}

export function heartbeatText(channels: Iterable<ChannelState>, { sequence, atMs }: Stamp): string {
  const sequences = Array.from(channels, ({ name, lastSequence }) => `"${name}":${lastSequence}`);
  return `{"type":"heartbeat","sequence":${sequence},"atMs":${atMs},"channels":{${sequences.join(',')}}}`;
}

export function authenticatedText(userId: number, cancelOnDisconnect: boolean): string {
  return `{"type":"authenticated","userId":"u${userId}","cancelOnDisconnect":${cancelOnDisconnect}}`;
}

export function unsubscribedText(channels: readonly string[]): string {
  return JSON.stringify({ type: 'unsubscribed', channels });
}

export function pongText({ sequence, atMs }: Stamp): string {
  return `{"type":"pong","sequence":${sequence},"atMs":${atMs}}`;
}

/** An error with the same code, message and details as over HTTP. */
export function errorText(error: ErrorAnswer): string {
  return JSON.stringify({ type: 'error', ...JSON.parse(error.text).error });
}
