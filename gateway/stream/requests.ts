/** Messages of clients: one JSON object per text message. An unknown field is refused by name. */
import { z } from 'zod';

/** Maximum number of channels in one message. */
export const CHANNELS_PER_MESSAGE = 50;

const channel = z.string().max(64, 'must have at most 64 characters');
const channels = z
  .array(channel)
  .min(1, 'must name a channel')
  .max(CHANNELS_PER_MESSAGE, `must name at most ${CHANNELS_PER_MESSAGE} channels`)
  .refine((names) => new Set(names).size === names.length, 'contains a duplicate channel');

export const ClientMessage = z.discriminatedUnion('op', [
  /** Signs in. `cancelOnDisconnect`: cancels the user's orders when the connection ends. */
  z.strictObject({
    op: z.literal('auth'),
    token: z.string(),
    cancelOnDisconnect: z.boolean().optional(),
  }),
  /** Sends a snapshot of each channel and then its deltas; a new snapshot if already subscribed. */
  z.strictObject({ op: z.literal('subscribe'), channels }),
  z.strictObject({ op: z.literal('unsubscribe'), channels }),
  /** Subscribes and sends the messages after number `after`, if kept, instead of a snapshot. */
  z.strictObject({
    op: z.literal('resume'),
    channel,
    after: z
      .number()
      .refine(Number.isSafeInteger, 'must be a whole number')
      .min(0, 'must not be negative'),
  }),
  z.strictObject({ op: z.literal('ping') }),
]);
export type ClientMessage = z.output<typeof ClientMessage>;
