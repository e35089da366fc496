/** Client messages: one JSON object per text message. Answers repeat a message's optional `id`. */
import { z } from 'zod';
import { op } from '../resources/orders/operations.js';
import { CHANNEL_NAMES } from './channels/names.js';
import { BatchMessage, OrderMessage, requestId } from './orders/order-messages.js';

const CHANNELS_PER_MESSAGE = 50;

const id = requestId.optional();
const channel = z.string().max(64, 'must have at most 64 characters');
const channels = z
  .array(channel)
  .min(1, 'must name a channel')
  .max(CHANNELS_PER_MESSAGE, `must name at most ${CHANNELS_PER_MESSAGE} channels`)
  .refine((names) => new Set(names).size === names.length, 'contains a duplicate channel')
  .meta({ uniqueItems: true, description: `The names of channels: ${CHANNEL_NAMES.join(', ')}` });

const messageNumber = z.int('must be a whole number').min(0, 'must not be negative');

export const CLIENT_MESSAGES = {
  auth: z
    .strictObject({
      op: op('auth'),
      id,
      token: z.string().describe('The session token, for the header `x-user-token`'),
      cancelOnDisconnect: z
        .boolean()
        .optional()
        .describe('Whether the user’s resting orders are cancelled when the connection ends'),
    })
    .describe('Signs in on this connection'),
  subscribe: z
    .strictObject({ op: op('subscribe'), id, channels })
    .describe('Sends a snapshot of each channel, then its deltas'),
  unsubscribe: z
    .strictObject({ op: op('unsubscribe'), id, channels })
    .describe('Ends the messages of these channels'),
  resume: z
    .strictObject({
      op: op('resume'),
      id,
      channel: channel.describe(`The name of the channel: ${CHANNEL_NAMES.join(', ')}`),
      after: messageNumber
        .optional()
        .describe('The number of the last message that the client received'),
      afterSequence: messageNumber
        .optional()
        .describe('The same as `after`, for the channel `user`'),
    })
    .describe('Subscribes; sends the missed messages instead of a snapshot, if they are available'),
  ping: z.strictObject({ op: op('ping'), id }).describe('Requests a `pong`'),
  order: OrderMessage.describe('Executes one operation'),
  batch: BatchMessage.describe('Executes operations in order without interruption'),
};

export const ClientMessage = z.discriminatedUnion('op', [
  CLIENT_MESSAGES.auth,
  CLIENT_MESSAGES.subscribe,
  CLIENT_MESSAGES.unsubscribe,
  CLIENT_MESSAGES.resume,
  CLIENT_MESSAGES.ping,
  CLIENT_MESSAGES.order,
  CLIENT_MESSAGES.batch,
]);
export type ClientMessage = z.output<typeof ClientMessage>;

const ID = /"id"\s*:\s*"([\w .:-]{1,64})"/;

/** The id of an unparsed message in the usual notation, or `undefined`. */
export function idIn(text: Uint8Array): string | undefined {
  const { buffer, byteOffset, byteLength } = text;
  return ID.exec(Buffer.from(buffer, byteOffset, byteLength).toString('latin1'))?.[1];
}

export function idOf(json: unknown): string | undefined {
  const value = typeof json === 'object' && json !== null ? (json as { id?: unknown }).id : null;
  const parsed = requestId.safeParse(value);
  return parsed.success ? parsed.data : undefined;
}
