/** Bodies of operators, not part of the public document. */
import { z } from 'zod';
import {
  MAX_OPEN_ORDERS_PER_USER,
  MAX_REASON_LENGTH,
  MICROS_PER_DOLLAR,
} from '../../../engine/interface/limits.js';
import {
  MAX_FEE_BASIS_POINTS,
  MAX_MAKER_SHARE_PERCENT,
  MAX_MIN_RESTING_MICROS,
  RATE_TIERS,
} from '../../../engine/interface/parameters.js';
import { RULE_SETS } from '../../../engine/interface/rule-sets.js';
import { paging } from '../../json/fields.js';
import * as response from '../../json/response-fields.js';
import { ListedOrder } from '../account-history/views.js';
import { Positions } from '../accounts/views.js';
import { MAX_ORDER_DOLLARS } from '../orders/fields.js';

const BASIS_POINTS = 10_000;

const reason = z
  .string()
  .min(1, 'must not be empty')
  .max(MAX_REASON_LENGTH, `must have at most ${MAX_REASON_LENGTH} characters`)
  .describe('The reason, kept in the journal');

export const ReasonBody = z.strictObject({ reason });
export const RateTierBody = z.strictObject({
  reason,
  rateTier: z.literal([...RATE_TIERS]).describe('How many times the rate limits are granted'),
});
export const PauseBody = z
  .strictObject({ reason, marketId: z.string().optional(), asset: z.string().optional() })
  .refine((body) => body.marketId === undefined || body.asset === undefined, {
    path: ['asset'],
    message: 'cannot be combined with marketId',
  });

/** Omitted fields keep their value, or take the rule set's. */
export const RulesBody = z.strictObject({
  reason,
  ruleSet: z
    .int()
    .min(1)
    .max(RULE_SETS.length)
    .describe(
      'The rule set: 1 has fixed values, 2 takes the values of the other fields, and 3 also those of curveFeeRate and makerShare',
    ),
  feeRate: z
    .number()
    .min(0)
    .max(MAX_FEE_BASIS_POINTS / BASIS_POINTS)
    .optional()
    .describe('The fee rate on what a buy spends, in steps of 0.0001'),
  curveFeeRate: z
    .number()
    .min(0)
    .max(MAX_FEE_BASIS_POINTS / BASIS_POINTS)
    .optional()
    .describe(
      'The rate of the fee curve, rate × price × (1 − price) for a bought share, in steps of 0.0001',
    ),
  makerShare: z
    .number()
    .min(0)
    .max(MAX_MAKER_SHARE_PERCENT / 100)
    .optional()
    .describe('The maker’s fraction of a trade’s fee, in steps of 0.01'),
  vaultShare: z
    .number()
    .min(0)
    .max(0.9)
    .optional()
    .describe("The vault's share of a market's fees, in steps of 0.01"),
  orderAmount: z
    .number()
    .min(1)
    .max(MAX_ORDER_DOLLARS)
    .optional()
    .describe('The most US dollars that one buy may spend'),
  openOrders: z
    .int()
    .min(1)
    .max(MAX_OPEN_ORDERS_PER_USER)
    .optional()
    .describe('The most resting orders of one user, in all markets'),
  restingOrderValue: z
    .number()
    .min(0)
    .max(MAX_MIN_RESTING_MICROS / MICROS_PER_DOLLAR)
    .optional()
    .describe('The least US dollars that an order must be worth to rest; 0 for no minimum'),
});

export const Done = z.strictObject(response.state);
const paused = z
  .array(z.string())
  .describe('Current pauses: everything, assets, or active markets');
export const Paused = z.strictObject({ paused, ...response.state });
export const CancelledOrders = z.strictObject({
  cancelledOrders: response.count,
  ...response.state,
});

export const SignInCode = z.strictObject({
  code: z.string().describe('The code, for the user alone; only this answer shows it'),
  endsAtMs: response.timeMs.describe('When the code expires'),
  ...response.state,
});

export const OperatorUser = z.strictObject({
  userId: response.userId,
  username: z.string(),
  createdAtMs: response.timeMs,
  partner: z.string().nullable(),
  parentId: response.userId.nullable(),
  frozen: z.boolean(),
  rateTier: response.count,
  cancelAtMs: response.timeMs.nullable(),
  balance: z.strictObject(response.balanceFields),
  orders: z.array(ListedOrder),
  positions: Positions.shape.positions,
  ...response.state,
});

const at = z
  .strictObject({ sequence: response.count, atMs: response.timeMs.nullable() })
  .nullable();

export const UserQuery = z.strictObject({ username: z.string() });
export const FoundUser = z.strictObject({ userId: response.userId, username: z.string() });

export const OperatorStatus = z.strictObject({
  version: z.string(),
  role: z.enum(['leader', 'replica']),
  epoch: response.count.nullable(),
  leader: z.string().nullable(),
  standbys: response.count.nullable(),
  copies: z
    .strictObject({
      needed: response.count,
      there: z.array(z.string()),
      missing: z.array(z.string()),
    })
    .nullable()
    .describe('PostgreSQL’s copies of the journal, apart from the primary'),
  startedAtMs: response.timeMs,
  nowMs: response.timeMs,
  clockAheadMs: z.number().int().nullable(),
  ...response.state,
  durableSequence: response.state.sequence,
  problem: z.string().nullable().describe('Why the exchange is not ready; null if it is'),
  warning: z.string().nullable(),
  snapshot: at,
  backup: at,
  segments: z.strictObject({ here: response.count, archived: response.count }).nullable(),
  disk: z.strictObject({
    freeBytes: response.count.nullable(),
    daysLeft: response.count
      .nullable()
      .describe(
        'Days until the disk is full, at the rate since startup; null in the first ten minutes, or if the disk does not fill',
      ),
  }),
  paused,
  frozenUsers: z.array(z.string()).describe('The names of the first 100 frozen users'),
  configuration: z
    .record(z.string(), z.string())
    .describe('The variables that differ from their default, without secrets'),
});

export const ACTION_NAMES = [
  'pause',
  'resume',
  'freeze',
  'unfreeze',
  'cancel_orders',
  'void',
  'set_rules',
  'sign_in_code',
  'set_rate_tier',
] as const;
export const ActionsQuery = z.strictObject(paging);
export const Actions = z.strictObject({
  actions: z.array(
    z.strictObject({
      actionId: z.string(),
      sequence: response.count,
      atMs: response.timeMs,
      action: z.enum(ACTION_NAMES),
      operator: z.string(),
      reason: z.string(),
      userId: response.userId.nullable(),
      marketId: response.marketId.nullable(),
      asset: z.string().nullable(),
      rateTier: response.count.nullable().describe('The tier set by set_rate_tier'),
      rules: z
        .strictObject({
          ruleSet: response.count,
          feeRate: response.decimal,
          curveFeeRate: response.decimal,
          makerShare: response.decimal,
          vaultShare: response.decimal,
          orderAmount: response.money,
          openOrders: response.count,
          restingOrderValue: response.money,
        })
        .nullable()
        .describe('The rules put in force by set_rules; null for other actions'),
    }),
  ),
  ...response.pageEnd,
});
