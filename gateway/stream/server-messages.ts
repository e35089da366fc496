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
import { CANCEL_REASONS, ENDED } from '../json/cancel-reasons.js';
import * as fields from '../json/response-fields.js';
import { Positions } from '../resources/accounts/views.js';
import { BatchReceipt, OPERATION_RECEIPTS } from '../resources/batch/schemas.js';
import { Market, Orderbook } from '../resources/markets/schemas.js';
import { Order } from '../resources/orders/schemas.js';
import { requestId } from './orders/order-messages.js';

const type = <Name extends string>(name: Name) => z.literal(name).describe('What it is');
/** A message or an event of this type. */
const typed = <Name extends string, Shape extends z.ZodRawShape>(name: Name, shape: Shape) =>
  z.strictObject({ type: type(name), ...shape });
const atMs = fields.count.describe(
  'The time of the exchange then, in milliseconds since the epoch',
);
const stamp = {
  sequence: fields.count.describe('The journal sequence at which this is true'),
  atMs,
};

const marketChange = z.strictObject({
  change: z
    .enum([
      'upcoming',
      'opened',
      'start_price_fixed',
      'paused',
      'resumed',
      'ended',
      'resolved',
      'closed',
    ])
    .describe('What happened to the market'),
  marketId: fields.marketId,
  market: Market.nullable().describe('The market afterwards; null once it is closed'),
});
const trade = z.strictObject({ ...fields.tradeFields, atMs });
const DATA = 'The state of the channel, or its changes';
const trades = z
  .strictObject({ marketId: fields.marketId, trades: z.array(trade).describe('The trades') })
  .describe(DATA);
/** Its time is that of the message. */
const Book = Orderbook.omit({ atMs: true }).describe(DATA);
const tops = z
  .strictObject({
    asset: fields.asset,
    book: Book.nullable().describe(
      'The active market with at most one level on each side; null: no market is active',
    ),
  })
  .describe(DATA);
const books = z
  .strictObject({
    asset: fields.asset,
    book: Book.nullable().describe('The book, or its changes; null: no market is active'),
  })
  .describe(DATA);
const assetPrice = z
  .strictObject({
    asset: fields.asset,
    price: fields.money.nullable().describe('US dollars; null before the first price'),
    observedAtMs: fields.count
      .nullable()
      .describe('When the price was observed, in milliseconds since the epoch'),
  })
  .describe(DATA);

const order = {
  orderId: fields.orderId,
  clientOrderId: fields.clientOrderId,
  marketId: fields.marketId,
  side: fields.side,
  outcome: fields.outcome,
  price: fields.price,
  shares: fields.shares,
};
const UserEvent = z.discriminatedUnion('type', [
  typed('order_rested', order),
  typed('order_cancelled', {
    ...order,
    reason: z.enum(Object.values(CANCEL_REASONS)).describe('Why it happened'),
  }),
  typed('order_ended', {
    orderId: fields.orderId,
    clientOrderId: fields.clientOrderId,
    marketId: fields.marketId,
    reason: z.enum(ENDED).describe('Why the rest was not filled'),
  }),
  typed('order_amended', {
    ...order,
    oldPrice: fields.price,
    oldShares: fields.shares,
    originalShares: fields.shares,
    keptPriority: z.boolean().describe('Whether the order kept its place in the queue'),
  }),
  typed('fill', {
    tradeId: fields.tradeId,
    orderId: fields.orderId,
    clientOrderId: fields.clientOrderId,
    marketId: fields.marketId,
    role: z
      .enum(['taker', 'maker'])
      .describe('Whether the order arrived (taker) or rested in the book (maker)'),
    side: fields.side,
    outcome: fields.outcome,
    price: fields.price,
    shares: fields.shares,
    value: fields.money,
    fee: fields.money,
    matchType: fields.matchType,
  }),
  typed('position_settled', {
    marketId: fields.marketId,
    UP: fields.shares,
    DOWN: fields.shares,
    cost: fields.money,
    payout: fields.money,
    refundedFees: fields.money,
    profit: fields.money,
  }),
  z.strictObject({
    type: z.literal('sets_split'),
    marketId: fields.marketId,
    shares: fields.shares,
    fee: fields.money,
  }),
  z.strictObject({
    type: z.literal('sets_merged'),
    marketId: fields.marketId,
    shares: fields.shares,
    profit: fields.money,
  }),
  typed('claimed', {
    marketId: fields.marketId,
    shares: fields.shares,
    payout: fields.money,
    refundedFees: fields.money,
    automatic: z.boolean().describe('Whether the exchange paid without a request'),
  }),
  typed('deposited', {
    amount: fields.money,
    source: z.enum(['grant', 'partner']).describe('Where it came from'),
  }),
  typed('user_frozen', {
    frozen: z.boolean().describe('Whether an operator has frozen the account'),
  }),
  typed('cancel_after_fired', {
    cancelAtMs: fields.count.describe('The time for which the cancellation was set'),
  }),
  typed('order_group_tripped', {
    groupId: fields.groupId,
    filledShares: fields.shares.describe('What its orders filled in the window'),
  }),
  typed('withdrawn', { amount: fields.money }),
  typed('transferred_in', { from: fields.userId, amount: fields.money }),
  typed('transferred_out', { to: fields.userId, amount: fields.money }),
  typed('staked', {
    depositId: fields.depositId,
    amount: fields.money,
    earnsFromMs: fields.count.describe(
      'When the deposit starts to earn, in milliseconds since the epoch',
    ),
  }),
  typed('unstaked', { depositId: fields.depositId, amount: fields.money, yield: fields.money }),
  typed('yield_claimed', { depositId: fields.depositId, yield: fields.money }),
  typed('referral_earned', { marketId: fields.marketId, amount: fields.money }),
  typed('points_credited', {
    marketId: fields.marketId,
    points: z.number().describe('Points, at most 6 decimal places'),
    reason: z.enum(['fees', 'referral']).describe('Why it happened'),
  }),
]);

const account = {
  userId: fields.userId,
  balance: z.strictObject(fields.balanceFields).describe('The balance afterwards'),
  positions: z
    .array(
      z.strictObject({
        marketId: fields.marketId,
        outcomes: Positions.shape.positions.describe('The positions in the market; empty: none'),
      }),
    )
    .describe('The positions'),
};

const accountData = {
  snapshot: z
    .strictObject({ ...account, orders: z.array(Order).describe('The orders') })
    .describe(DATA),
  delta: z
    .strictObject({
      ...account,
      events: z.array(UserEvent).describe('What happened to the account, in order'),
    })
    .describe(DATA),
};

/**
 * The channels, by kind. One of a market, an asset or a sub-account has its id in its name:
 * "book:<marketId>".
 * `texts`: what a snapshot and a delta are.
 */
export const CHANNELS = {
  markets: {
    of: 'all',
    snapshot: z.strictObject({ markets: z.array(Market).describe('The markets') }).describe(DATA),
    delta: z
      .strictObject({
        changes: z.array(marketChange).describe('What happened to markets, in order'),
      })
      .describe(DATA),
    texts: [
      'The active and the upcoming markets',
      'Markets that were listed, opened, ended, were resolved or were closed',
    ],
  },
  book: {
    of: 'market',
    snapshot: Book,
    delta: Book,
    texts: ['The order book at full depth', 'The price levels that changed; 0 shares: none left'],
  },
  books: {
    of: 'asset',
    snapshot: books,
    delta: books,
    texts: [
      'The order book of the active market at full depth',
      'The price levels that changed; 0 shares: none left',
    ],
  },
  tops: {
    of: 'asset',
    snapshot: tops,
    delta: tops,
    texts: ['The best bid and ask of the active market', 'A new best bid or ask, or market'],
  },
  trades: {
    of: 'market',
    snapshot: trades,
    delta: trades,
    texts: ['No trades: those before the subscription are at the HTTP route', 'New trades'],
  },
  prices: {
    of: 'asset',
    snapshot: assetPrice,
    delta: assetPrice,
    texts: ['The last price of the asset', 'A price of the asset'],
  },
  user: {
    of: 'user',
    ...accountData,
    texts: ['The account: balance, orders, positions', 'What a command did to the account'],
  },
  account: {
    of: 'subAccount',
    ...accountData,
    texts: ['A sub-account: balance, orders, positions', 'What a command did to the sub-account'],
  },
} as const;
export type ChannelKind = keyof typeof CHANNELS;
export const CHANNEL_KINDS = Object.keys(CHANNELS) as ChannelKind[];

const id = requestId.optional();
const after = fields.count.describe('The number of the last message that the client has');
const channelName = (name = z.string()) => name.describe('The name of the channel');
const channel = {
  channel: channelName(),
  channelSequence: fields.count.describe('The number of the message in its channel'),
  ...stamp,
};

/** Snapshots and deltas of each kind of channel; a snapshot has the id of the request for it. */
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
          previousSequence: fields.count.describe(
            'No message of the channel has a number between this one and its own',
          ),
          ...common,
          data: delta,
        }).describe(ofDelta),
      ],
    ];
  }),
);

/** The fields of every receipt. */
const envelope = {
  type: type('receipt'),
  id: requestId,
  replayed: z
    .boolean()
    .describe('Whether the receipt is that of an earlier request with the same key'),
};

export const SERVER_MESSAGES: Record<string, z.ZodType> = {
  ...CHANNEL_MESSAGES,
  closed: typed('closed', channel).describe('The market is closed, and so is the channel'),
  resumed: typed('resumed', { id, ...channel, after }).describe(
    'The messages after `after` follow, then new ones',
  ),
  replayed: typed('replayed', { id, ...channel }).describe(
    'The messages from the journal have been sent, all up to number `channelSequence`',
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
      .describe('Whether the orders of the user are cancelled when the connection ends'),
  }).describe('The connection is signed in'),
  heartbeat: typed('heartbeat', {
    ...stamp,
    channels: z
      .record(z.string(), fields.count)
      .describe('The number of the last message by channel'),
  }).describe('Sent every 10 s'),
  pong: typed('pong', { id, ...stamp }).describe('Everything up to `sequence` was sent before'),
  orderReceipt: z
    .union(
      Object.values(OPERATION_RECEIPTS).map(({ shape }) =>
        z.strictObject({ ...envelope, ...shape }),
      ),
    )
    .describe('What an operation did'),
  batchReceipt: z.strictObject({ ...envelope, ...BatchReceipt.shape }).describe('What a batch did'),
  error: typed('error', {
    id,
    channel: z
      .string()
      .optional()
      .describe('The channel that the error is about, of a request that names channels'),
    code: z.enum(ERROR_CODES).describe('The code'),
    message: z.string().describe('For people'),
    details: z.record(z.string(), z.unknown()).describe('As over HTTP'),
  }).describe('The request was refused and changed nothing, or the operation was rejected'),
};
