/** What clients may send: one JSON object per text message, strict, so that a misspelt field is refused by name. */
import { z } from 'zod';

/** A message that names more channels than this is refused; send another. */
export const CHANNELS_PER_MESSAGE = 50;

const channel = z.string().max(64, 'must have at most 64 characters');
const channels = z
  .array(channel)
  .min(1, 'must name a channel')
  .max(CHANNELS_PER_MESSAGE, `must name at most ${CHANNELS_PER_MESSAGE} channels`)
  .refine((names) => new Set(names).size === names.length, 'names a channel twice');

export const ClientMessage = z.discriminatedUnion('op', [
  /** Signs the connection in. With `cancelOnDisconnect`, all resting orders of the user are cancelled when it ends. */
  z.strictObject({
    op: z.literal('auth'),
    token: z.string(),
    cancelOnDisconnect: z.boolean().optional(),
  }),
  /** A snapshot of each channel, then its deltas. A channel that is subscribed to already sends a fresh snapshot. */
  z.strictObject({ op: z.literal('subscribe'), channels }),
  z.strictObject({ op: z.literal('unsubscribe'), channels }),
  /** Subscribes, with the messages after the one with the number `after` in place of a snapshot, if they are still there. */
  z.strictObject({
    op: z.literal('resume'),
    channel,
    after: z.number().refine(Number.isSafeInteger, 'must be a whole number').min(0, 'must not be negative'),
  }),
  z.strictObject({ op: z.literal('ping') }),
]);
export type ClientMessage = z.output<typeof ClientMessage>;
