/**
 * The messages of the server, as zod schemas: the AsyncAPI document is made from them, and tests
 * check every message, which is written as text elsewhere, against them.
 *
 * `sequence` is the journal sequence that a message is true at, `atMs` the exchange's time then.
 * `channelSequence` numbers the messages of a channel by the journal sequences of their commands,
 * and `previousSequence` says after which number a delta comes. A snapshot replaces the client's
 * state; a delta changes it.
 */
import { z } from 'zod';
import { ERROR_CODES } from '../http/errors.js';
import { CANCEL_REASONS } from '../json/cancel-reasons.js';
import {
  balanceFields,
  clientOrderId,
  count,
  depositId,
  marketId,
  matchType,
  money,
  orderId,
  outcome,
  price,
  shares,
  side,
  tradeId,
  userId,
} from '../json/response-fields.js';
import { Positions } from '../resources/accounts/schemas.js';
import { BatchReceipt, OPERATION_RECEIPTS } from '../resources/batch/schemas.js';
import { Market, Orderbook } from '../resources/markets/schemas.js';
import { Order } from '../resources/orders/schemas.js';
import { requestId } from './orders/order-messages.js';

const stamp = { sequence: count, atMs: count };

const marketChange = z.strictObject({
  change: z.enum([
    'opened',
    'start_price_fixed',
    'paused',
    'resumed',
    'ended',
    'resolved',
    'closed',
  ]),
  marketId,
  market: Market.nullable(),
});
const trade = z.strictObject({
  tradeId,
  outcome,
  side,
  price,
  shares,
  value: money,
  matchType,
  atMs: count,
});
const trades = z.strictObject({ marketId, trades: z.array(trade) });
const assetPrice = z.strictObject({
  asset: z.string(),
  price: money.nullable(),
  observedAtMs: count.nullable(),
});

const order = { orderId, clientOrderId, marketId, side, outcome, price, shares };
const UserEvent = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('order_rested'), ...order }),
  z.strictObject({
    type: z.literal('order_cancelled'),
    ...order,
    reason: z.enum(Object.values(CANCEL_REASONS)),
  }),
  z.strictObject({
    type: z.literal('order_amended'),
    ...order,
    oldPrice: price,
    oldShares: shares,
    originalShares: shares,
    keptPriority: z.boolean(),
  }),
  z.strictObject({
    type: z.literal('fill'),
    tradeId,
    orderId,
    clientOrderId,
    marketId,
    role: z.enum(['taker', 'maker']),
    side,
    outcome,
    price,
    shares,
    value: money,
    fee: money,
    matchType,
  }),
  z.strictObject({
    type: z.literal('position_settled'),
    marketId,
    UP: shares,
    DOWN: shares,
    cost: money,
    payout: money,
    refundedFees: money,
    profit: money,
  }),
  z.strictObject({
    type: z.literal('claimed'),
    marketId,
    shares,
    payout: money,
    refundedFees: money,
    automatic: z.boolean(),
  }),
  z.strictObject({
    type: z.literal('deposited'),
    amount: money,
    source: z.enum(['grant', 'partner']),
  }),
  z.strictObject({
    type: z.literal('user_frozen'),
    frozen: z.boolean().meta({ description: 'Whether an operator has frozen the account' }),
  }),
  z.strictObject({
    type: z.literal('cancel_after_fired'),
    cancelAtMs: count.meta({ description: 'The time for which the cancellation was set' }),
  }),
  z.strictObject({ type: z.literal('withdrawn'), amount: money }),
  z.strictObject({ type: z.literal('staked'), depositId, amount: money, earnsFromMs: count }),
  z.strictObject({ type: z.literal('unstaked'), depositId, amount: money, yield: money }),
  z.strictObject({ type: z.literal('yield_claimed'), depositId, yield: money }),
  z.strictObject({ type: z.literal('referral_earned'), marketId, amount: money }),
  z.strictObject({
    type: z.literal('points_credited'),
    marketId,
    points: z.number(),
    reason: z.enum(['fees', 'referral']),
  }),
]);

const account = {
  userId,
  balance: z.strictObject(balanceFields),
  positions: z.array(z.strictObject({ marketId, outcomes: Positions.shape.positions })),
};

/** The data of snapshots and deltas, by kind of channel. */
export const CHANNEL_DATA = {
  markets: {
    snapshot: z.strictObject({ markets: z.array(Market) }),
    delta: z.strictObject({ changes: z.array(marketChange) }),
  },
  book: { snapshot: Orderbook, delta: Orderbook },
  trades: { snapshot: trades, delta: trades },
  prices: { snapshot: assetPrice, delta: assetPrice },
  user: {
    snapshot: z.strictObject({ ...account, orders: z.array(Order) }),
    delta: z.strictObject({ ...account, events: z.array(UserEvent) }),
  },
} as const;

const id = requestId.optional();
const channel = { channel: z.string(), channelSequence: count, ...stamp };
const KINDS = Object.keys(CHANNEL_DATA) as (keyof typeof CHANNEL_DATA)[];

/** What a snapshot and a delta of each kind of channel are. */
const CHANNEL_TEXTS: Record<keyof typeof CHANNEL_DATA, [snapshot: string, delta: string]> = {
  markets: ['The active markets', 'Markets that opened, ended, were resolved or were closed'],
  book: ['The order book at full depth', 'The price levels that changed; 0 shares: none left'],
  trades: ['No trades: those before the subscription are at the HTTP route', 'New trades'],
  prices: ['The last price of the asset', 'A price of the asset'],
  user: ['The account: balance, orders, positions', 'What a command did to the account'],
};

/** Snapshots and deltas of each kind of channel; a snapshot has the id of the request for it. */
const CHANNEL_MESSAGES = Object.fromEntries(
  KINDS.flatMap((kind) => {
    const name = z.string().regex(new RegExp(`^${kind}(:|$)`));
    const { snapshot, delta } = CHANNEL_DATA[kind];
    const [ofSnapshot, ofDelta] = CHANNEL_TEXTS[kind];
    const common = { ...channel, channel: name };
    return [
      [
        `${kind}Snapshot`,
        z
          .strictObject({ type: z.literal('snapshot'), id, ...common, data: snapshot })
          .describe(ofSnapshot),
      ],
      [
        `${kind}Delta`,
        z
          .strictObject({
            type: z.literal('delta'),
            previousSequence: count,
            ...common,
            data: delta,
          })
          .describe(ofDelta),
      ],
    ];
  }),
);

/** Of receipts. */
const envelope = { type: z.literal('receipt'), id: requestId, replayed: z.boolean() };

/** All messages of the server, by name. */
export const SERVER_MESSAGES: Record<string, z.ZodType> = {
  ...CHANNEL_MESSAGES,
  closed: z
    .strictObject({ type: z.literal('closed'), ...channel })
    .describe('The market is closed, and so is the channel'),
  resumed: z
    .strictObject({ type: z.literal('resumed'), id, ...channel, after: count })
    .describe('The messages after `after` follow, then new ones'),
  replayed: z
    .strictObject({ type: z.literal('replayed'), id, ...channel })
    .describe('The messages from the journal have been sent, all up to number `channelSequence`'),
  gap: z
    .strictObject({ type: z.literal('gap'), id, ...channel, after: count })
    .describe('The messages after `after` are not available; a snapshot follows'),
  unsubscribed: z
    .strictObject({ type: z.literal('unsubscribed'), id, channels: z.array(z.string()) })
    .describe('No further messages of these channels follow'),
  authenticated: z
    .strictObject({
      type: z.literal('authenticated'),
      id,
      userId,
      cancelOnDisconnect: z.boolean(),
    })
    .describe('The connection is signed in'),
  heartbeat: z
    .strictObject({
      type: z.literal('heartbeat'),
      ...stamp,
      channels: z.record(z.string(), count).describe('The number of the last message by channel'),
    })
    .describe('Sent every 10 s'),
  pong: z
    .strictObject({ type: z.literal('pong'), id, ...stamp })
    .describe('Everything up to `sequence` was sent before'),
  orderReceipt: z
    .union(
      Object.values(OPERATION_RECEIPTS).map(({ shape }) =>
        z.strictObject({ ...envelope, ...shape }),
      ),
    )
    .describe('What an operation did'),
  batchReceipt: z.strictObject({ ...envelope, ...BatchReceipt.shape }).describe('What a batch did'),
  error: z
    .strictObject({
      type: z.literal('error'),
      id,
      channel: z
        .string()
        .optional()
        .describe('The channel that the error is about, of a request that names channels'),
      code: z.enum(ERROR_CODES),
      message: z.string().describe('For people'),
      details: z.record(z.string(), z.unknown()).describe('As over HTTP'),
    })
    .describe('The request was refused and changed nothing, or the operation was rejected'),
};

export const ServerMessage = z.union(Object.values(SERVER_MESSAGES));
