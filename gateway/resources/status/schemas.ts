/** The response bodies of the routes of operators, and of the time and the limits. */
import { z } from 'zod';
import { responseObject, responseSchema } from '../../json/components.js';
import {
  asset,
  count,
  decimal,
  money,
  sequence,
  shares,
  state,
  timeMs,
} from '../../json/response-fields.js';

export const Health = responseObject('Health', 'The process is alive', {
  status: z.literal('ok').describe('The state'),
});

export const Ready = responseObject('Ready', 'The exchange accepts traffic', {
  status: z.literal('ready').describe('The state'),
  warning: z
    .string()
    .optional()
    .describe(
      'Trading continues, but something is failing and is retried. The log has the details.',
    ),
});

export const Status = responseObject('Status', 'The progress of the exchange', {
  version: z.string().describe('The version of the program'),
  ...state,
  durableSequence: sequence,
  digest: z
    .string()
    .regex(/^[0-9a-f]{16}$/)
    .describe('A number over all results and events so far, as 16 hex digits'),
  journal: z
    .enum(['local', 'replicated', 'unreplicated'])
    .describe(
      'Where commands are when they are acknowledged: on the disk of this machine, on two machines, or on a ' +
        'database that replicates nothing, which is for development',
    ),
  role: z
    .enum(['leader', 'standby', 'replica'])
    .describe(
      'leader: it executes commands; replica: it serves reads and forwards the rest; standby: it waits to lead',
    ),
  epoch: count
    .nullable()
    .describe('The number of the leader of a replicated journal; null: it is local'),
  paused: z
    .array(z.string())
    .describe('What takes no new orders: everything, or assets, or markets'),
  startedAtMs: timeMs,
  prices: z
    .array(
      responseObject('AssetPrice', 'The price of an asset, and where it comes from', {
        asset,
        price: money.nullable().describe('The price that counts; null: none yet'),
        observedAtMs: timeMs
          .nullable()
          .describe('When the price was observed, in milliseconds since the epoch'),
        held: z
          .strictObject({
            price: money,
            sinceMs: timeMs.describe('When the first such price came'),
          })
          .nullable()
          .describe('The price that is held back, because it is far from the last one; null: none'),
        sources: z
          .array(
            responseObject('SourcePrice', 'The last price of a source', {
              source: z.string().describe('Where it came from'),
              price: money,
              observedAtMs: timeMs,
              isFresh: z.boolean().describe('Whether it counts for the median'),
            }),
          )
          .describe('The last price of each source since the start'),
      }),
    )
    .describe('The prices of the assets, and where they come from'),
  nowMs: timeMs.describe('What the clock of the exchange shows, in milliseconds since the epoch'),
});

export const MetricsText = responseSchema(
  'MetricsText',
  'The Prometheus text format, version 0.0.4',
  z.string(),
);

export const Time = responseObject('Time', 'The time of the exchange', {
  nowMs: timeMs.describe('What the clock of the exchange shows, in milliseconds since the epoch'),
  sequence,
});

const bucket = z
  .strictObject({
    perSecond: decimal.min(0).describe('Requests per second in the long run'),
    burst: count.describe('Requests that can be sent at once'),
  })
  .nullable();
const rates = (description: string) =>
  z
    .strictObject({
      user: bucket.describe('Of one user; null: no limit'),
      address: bucket.describe('Of one address; null: no limit'),
    })
    .describe(description);

export const Limits = responseObject('Limits', 'What clients must keep to', {
  ruleSet: count.describe('The set of rules in force'),
  feeRate: decimal.describe('The part of what a buy spends that is charged on top'),
  vaultShare: decimal.describe('The part of the fees that the vault earns'),
  tickSize: money.describe('US dollars; prices are multiples of it'),
  lotSize: shares.describe('Shares; sizes are multiples of it'),
  prices: z
    .enum(['simulated', 'file', 'live'])
    .describe(
      'Where the prices of assets come from: a simulation, which no real market follows; a file of recorded ones; or exchanges elsewhere',
    ),
  startingBalance: money.describe('US dollars of play money that a new account is given; 0: none'),
  restingOrderValue: money.describe(
    'US dollars that an order must be worth at its own price when it comes to rest; a sale of all shares of a position may be worth less',
  ),
  maxima: z
    .strictObject({
      orderAmount: money.describe('US dollars that one order may spend'),
      orderShares: shares.describe('Shares of one order'),
      tradesPerOrder: count.describe(
        'Makers that one order, or the orders of one batch, may trade with; orders that an order group cancels meanwhile count as makers',
      ),
      openOrders: count.describe('Resting orders of one user in all markets'),
      batchOperations: count.describe('Operations of one batch'),
      bodyBytes: count.describe('Bytes of a request body'),
      pageEntries: count.describe('Entries in one page of a list'),
      bookLevels: count.describe('Price levels on each side of an order book'),
      stake: money.describe('US dollars of one stake in a vault'),
      orderGroups: count.describe('Order groups of one user'),
      vaultDeposits: count.describe('Open vault deposits of one user'),
      referralCodes: count.describe('Referral codes of one user over time'),
      idempotencyKeys: count.describe(
        'Idempotency keys kept for one user; fewer as they fill up, and for accounts that have not paid a dollar of fees',
      ),
      idempotencyKeptMs: count.describe('Milliseconds for which an idempotency key is kept'),
    })
    .describe('The largest values that the exchange accepts'),
  rates: z
    .strictObject({
      orders: rates('Changes; a batch counts as its operations'),
      cancels: rates('Cancels, apart from orders; so is a batch that only cancels'),
      reads: rates('Reads'),
      signIns: rates('Requests that hash a password, and new tokens'),
    })
    .describe('The limits on requests'),
});
