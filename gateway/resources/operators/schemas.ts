/**
 * The bodies of requests and responses of operators. They are not components of the public
 * document.
 */
import { z } from 'zod';
import { MAX_REASON_LENGTH } from '../../../engine/interface/limits.js';
import { paging } from '../../json/fields.js';
import {
  balanceFields,
  count,
  marketId,
  nextCursor,
  sequence,
  timeMs,
  userId,
} from '../../json/response-fields.js';
import { Positions } from '../accounts/schemas.js';
import { Order } from '../orders/schemas.js';

const reason = z
  .string()
  .min(1, 'must not be empty')
  .max(MAX_REASON_LENGTH, `must have at most ${MAX_REASON_LENGTH} characters`)
  .meta({ description: 'Why; it is kept in the journal' });

export const ReasonBody = z.strictObject({ reason });
export const PauseBody = z
  .strictObject({ reason, marketId: z.string().optional(), asset: z.string().optional() })
  .refine((body) => body.marketId === undefined || body.asset === undefined, {
    path: ['asset'],
    message: 'cannot be combined with marketId',
  });

export const Done = z.strictObject({ sequence, atMs: timeMs });
export const CancelledOrders = z.strictObject({ cancelledOrders: count, sequence, atMs: timeMs });

export const OperatorUser = z.strictObject({
  userId,
  username: z.string(),
  createdAtMs: timeMs,
  partner: z.string().nullable(),
  frozen: z.boolean(),
  cancelAtMs: timeMs.nullable(),
  balance: z.strictObject(balanceFields),
  orders: z.array(Order),
  positions: Positions.shape.positions,
  sequence,
});

export const ACTION_NAMES = [
  'pause',
  'resume',
  'freeze',
  'unfreeze',
  'cancel_orders',
  'void',
] as const;
export const ActionsQuery = z.strictObject(paging);
export const Actions = z.strictObject({
  actions: z.array(
    z.strictObject({
      actionId: z.string(),
      sequence: count,
      atMs: timeMs,
      action: z.enum(ACTION_NAMES),
      operator: z.string(),
      reason: z.string(),
      userId: userId.nullable(),
      marketId: marketId.nullable(),
      asset: z.string().nullable(),
    }),
  ),
  nextCursor,
  sequence,
});
