/** Zod schemas of server messages, for the AsyncAPI document. Tests check each message's text. */
import { z } from 'zod';
import { ERROR_CODES } from '../commands/errors.js';
import * as fields from '../json/response-fields.js';
import { BatchReceipt, OPERATION_RECEIPTS } from '../resources/batch/schemas.js';
import { atMs } from './channels/channel.js';
import { typed } from './channels/user-events.js';
import { CHANNEL_KINDS, CHANNELS } from './hub.js';
import { requestId } from './orders/order-messages.js';

const stamp = {
  sequence: fields.count.describe('The journal sequence of the state that this message shows'),
  atMs,
};

const id = requestId.optional();
const after = fields.count.describe('The number of the last message that the client received');
const channelName = (name = z.string()) => name.describe('The name of the channel');
const channel = {
  channel: channelName(),
  channelSequence: fields.count.describe('The message’s number in its channel'),
  ...stamp,
};

/** Snapshots and deltas by kind of channel. A snapshot repeats its request's id. */
const previousSequence = fields.count.describe('The number of the channel’s previous message');
const CHANNEL_MESSAGES = Object.fromEntries(
  CHANNEL_KINDS.flatMap((kind) => {
    const name = channelName(z.string().regex(new RegExp(`^${kind}(:|$)`)));
    const {
      snapshot,
      delta,
      texts: [ofSnapshot, ofDelta],
    } = CHANNELS[kind];
    const common = { ...channel, channel: name };
    return [
      [
        `${kind}Snapshot`,
        typed('snapshot', { id, ...common, data: snapshot }).describe(ofSnapshot),
      ],
      [
        `${kind}Delta`,
        typed('delta', {
          previousSequence,
          ...common,
          data: delta,
        }).describe(ofDelta),
      ],
    ];
  }),
);

const envelope = {
  type: z.literal('receipt').describe('What it is'),
  id: requestId,
  replayed: z
    .boolean()
    .describe('Whether this is the stored receipt of an earlier request with the same key'),
};

export const SERVER_MESSAGES: Record<string, z.ZodType> = {
  ...CHANNEL_MESSAGES,
  closed: typed('closed', channel).describe('The market is closed, and the channel ends'),
  resumed: typed('resumed', { id, ...channel, after }).describe(
    'The messages after `after` follow, then new messages',
  ),
  replayed: typed('replayed', { id, previousSequence, ...channel }).describe(
    'All messages from the journal up to number `channelSequence` have been sent; continue from this number',
  ),
  gap: typed('gap', { id, ...channel, after }).describe(
    'The messages after `after` are not available; a snapshot follows',
  ),
  unsubscribed: typed('unsubscribed', {
    id,
    channels: z.array(z.string()).describe('The names of channels'),
  }).describe('No further messages of these channels follow'),
  authenticated: typed('authenticated', {
    id,
    userId: fields.userId,
    cancelOnDisconnect: z
      .boolean()
      .describe('Whether the user’s resting orders are cancelled when the connection ends'),
    expiresAtMs: fields.count
      .nullable()
      .describe("When the token expires, in the exchange's time; null if never"),
  }).describe('The connection is signed in'),
  sessionEnding: typed('session_ending', {
    endsAtMs: fields.count.describe("When the token expires, in the exchange's time"),
    ...stamp,
  }).describe('The token expires soon; the connection is then closed, and orders still rest'),
  heartbeat: typed('heartbeat', {
    ...stamp,
    channels: z
      .record(z.string(), fields.count)
      .describe('The last message’s number for each channel'),
  }).describe('Sent every 10 s'),
  pong: typed('pong', { id, ...stamp }).describe(
    'Everything up to `sequence` was sent before this message',
  ),
  orderReceipt: z
    .union(
      Object.entries(OPERATION_RECEIPTS).map(([name, { shape }]) =>
        z.strictObject({ ...envelope, ...shape }).describe(`The receipt of \`${name}\``),
      ),
    )
    .describe('What an operation did'),
  batchReceipt: z.strictObject({ ...envelope, ...BatchReceipt.shape }).describe('What a batch did'),
  part: typed('part', {
    part: fields.count.min(1).describe('The number of the part, from 1'),
    parts: fields.count.min(2).describe('How many parts the message has'),
    text: z.string().min(1).describe('The next characters of the JSON text of the message'),
  }).describe('A part of a message of more than 256 KiB; the parts follow one another'),
  error: typed('error', {
    id,
    channel: z
      .string()
      .optional()
      .describe('The channel that the error concerns, if the request names channels'),
    code: z.enum(ERROR_CODES).describe('The code'),
    message: z.string().describe('For people'),
    details: z.record(z.string(), z.unknown()).describe('As over HTTP'),
  }).describe('The request or operation was refused and changed nothing'),
};
