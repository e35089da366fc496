/**
 * Messages of clients: one JSON object per text message. An unknown field is refused by name. Each
 * may have an `id`, which its answers repeat.
 */
import { z } from 'zod';
import { BatchMessage, OrderMessage, requestId } from './orders/requests.js';

/** Maximum number of channels in one message. */
export const CHANNELS_PER_MESSAGE = 50;

const id = requestId.optional();
const channel = z.string().max(64, 'must have at most 64 characters');
const channels = z
  .array(channel)
  .min(1, 'must name a channel')
  .max(CHANNELS_PER_MESSAGE, `must name at most ${CHANNELS_PER_MESSAGE} channels`)
  .refine((names) => new Set(names).size === names.length, 'contains a duplicate channel');

const messageNumber = z
  .number()
  .refine(Number.isSafeInteger, 'must be a whole number')
  .min(0, 'must not be negative');

/** Signs in. `cancelOnDisconnect`: cancels the user's orders when the connection ends. */
const AuthMessage = z.strictObject({
  op: z.literal('auth'),
  id,
  token: z.string(),
  cancelOnDisconnect: z.boolean().optional(),
});
/** Sends a snapshot of each channel and then its deltas; a new snapshot if already subscribed. */
const SubscribeMessage = z.strictObject({ op: z.literal('subscribe'), id, channels });
const UnsubscribeMessage = z.strictObject({ op: z.literal('unsubscribe'), id, channels });
/** Subscribes and sends the messages after number `after`, if kept, instead of a snapshot. */
const ResumeMessage = z.strictObject({
  op: z.literal('resume'),
  id,
  channel,
  after: messageNumber,
});
const PingMessage = z.strictObject({ op: z.literal('ping'), id });

export const ClientMessage = z.discriminatedUnion('op', [
  AuthMessage,
  SubscribeMessage,
  UnsubscribeMessage,
  ResumeMessage,
  PingMessage,
  OrderMessage,
  BatchMessage,
]);
export type ClientMessage = z.output<typeof ClientMessage>;

/** The id of a message that may be invalid; undefined: it has no valid one. */
export function idOf(json: unknown): string | undefined {
  const value = typeof json === 'object' && json !== null ? (json as { id?: unknown }).id : null;
  const parsed = requestId.safeParse(value);
  return parsed.success ? parsed.data : undefined;
}
