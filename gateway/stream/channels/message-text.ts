/** Server messages as JSON text, concatenated by hand because their data is already text. */
import type { ErrorAnswer } from '../../commands/errors.js';

/** Sequence and time of the command whose state a message shows. */
export interface Stamp {
  sequence: number;
  atMs: number;
}

/** Id of the answered request; `undefined` without a request or id. */
type RequestId = string | undefined;

interface ChannelState {
  readonly name: string;
  readonly lastSequence: number;
}

/** `data`: the whole state (snapshot) or the changes (delta). `fields`: each ends with a comma. */
export function channelText(
  type: 'snapshot' | 'delta',
  channel: ChannelState,
  { sequence, atMs }: Stamp,
  data: string,
  fields: string,
): string {
  return (
    `{"type":"${type}",${fields}"channel":"${channel.name}","channelSequence":${channel.lastSequence}` +
    `,"sequence":${sequence},"atMs":${atMs},"data":${data}}`
  );
}

function placeOf(channel: string, channelSequence: number, { sequence, atMs }: Stamp) {
  return { channel, channelSequence, sequence, atMs };
}

export function closedText({ name, lastSequence }: ChannelState, stamp: Stamp): string {
  return JSON.stringify({ type: 'closed', ...placeOf(name, lastSequence, stamp) });
}

/** Precedes the missed messages (`resumed`), or a snapshot in their place (`gap`). */
export function resumeText(
  type: 'resumed' | 'gap',
  { name: channel, lastSequence: channelSequence }: ChannelState,
  after: number,
  { sequence, atMs }: Stamp,
  id?: RequestId,
): string {
  return JSON.stringify({ type, id, channel, after, channelSequence, sequence, atMs });
}

/** Follows the messages from the journal up to number `after`; the last one has number `place`. */
export function replayedText(
  name: string,
  { place, after }: { place: number; after: number },
  stamp: Stamp,
  id?: RequestId,
): string {
  const fields = { id, previousSequence: place, ...placeOf(name, after, stamp) };
  return JSON.stringify({ type: 'replayed', ...fields });
}

export function heartbeatText(states: Iterable<ChannelState>, { sequence, atMs }: Stamp): string {
  const channels = Object.fromEntries(
    Array.from(states, ({ name, lastSequence }) => [name, lastSequence]),
  );
  return JSON.stringify({ type: 'heartbeat', sequence, atMs, channels });
}

export function authenticatedText(
  session: { userId: number; expiresAtMs: number | null },
  cancelOnDisconnect: boolean,
  id?: RequestId,
): string {
  const { expiresAtMs } = session;
  const userId = `u${session.userId}`;
  return JSON.stringify({ type: 'authenticated', id, userId, cancelOnDisconnect, expiresAtMs });
}

export function sessionEndingText(endsAtMs: number, { sequence, atMs }: Stamp): string {
  return JSON.stringify({ type: 'session_ending', endsAtMs, sequence, atMs });
}

export function unsubscribedText(channels: readonly string[], id?: RequestId): string {
  return JSON.stringify({ type: 'unsubscribed', id, channels });
}

export function pongText({ sequence, atMs }: Stamp, id?: RequestId): string {
  return JSON.stringify({ type: 'pong', id, sequence, atMs });
}

export function partText(part: number, parts: number, text: string): string {
  return JSON.stringify({ type: 'part', part, parts, text });
}

export interface ErrorSource {
  id?: RequestId;
  /** The channel that failed, if the request named several. */
  channel?: string | undefined;
}

export function errorText({ text }: ErrorAnswer, { id, channel }: ErrorSource = {}): string {
  const head = JSON.stringify({ type: 'error', id, channel });
  return `${head.slice(0, -1)},${text.slice(ERROR_FROM, -1)}`;
}

/** An ErrorAnswer's `text` is `{"error":{…}}`. */
const ERROR_FROM = '{"error":{'.length;
