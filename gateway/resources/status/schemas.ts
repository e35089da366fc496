/** The response bodies of the routes of operators, and of the time and the limits. */
import { z } from 'zod';
import { responseSchema } from '../../json/components.js';
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

export const Health = responseSchema(
  'Health',
  'The process is alive',
  z.strictObject({ status: z.literal('ok').describe('The state') }),
);

export const Ready = responseSchema(
  'Ready',
  'The exchange accepts traffic',
  z.strictObject({
    status: z.literal('ready').describe('The state'),
    warning: z
      .string()
      .optional()
      .describe(
        'Trading continues, but something is failing and is retried. The log has the details.',
      ),
  }),
);

export const Status = responseSchema(
  'Status',
  'The progress of the exchange',
  z.strictObject({
    version: z.string().describe('The version of the program'),
    ...state,
    durableSequence: sequence,
    digest: z
      .string()
      .regex(/^[0-9a-f]{16}$/)
      .describe('A number over all results and events so far, as 16 hex digits'),
    journal: z.enum(['local', 'replicated', 'unreplicated']).meta({
      description:
        'Where commands are when they are acknowledged: on the disk of this machine, on two machines, or on a ' +
        'database that replicates nothing, which is for development',
    }),
    role: z.enum(['leader', 'standby', 'replica']).meta({
      description:
        'leader: it executes commands; replica: it serves reads and forwards the rest; standby: it waits to lead',
    }),
    epoch: count
      .nullable()
      .meta({ description: 'The number of the leader of a replicated journal; null: it is local' }),
    paused: z
      .array(z.string())
      .meta({ description: 'What takes no new orders: everything, or assets, or active markets' }),
    startedAtMs: timeMs,
    prices: z
      .array(
        responseSchema(
          'AssetPrice',
          'The price of an asset, and where it comes from',
          z.strictObject({
            asset,
            price: money.nullable().meta({ description: 'The price that counts; null: none yet' }),
            observedAtMs: timeMs
              .nullable()
              .describe('When the price was observed, in milliseconds since the epoch'),
            held: z
              .strictObject({
                price: money,
                sinceMs: timeMs.meta({ description: 'When the first such price came' }),
              })
              .nullable()
              .meta({
                description:
                  'The price that is held back, because it is far from the last one; null: none',
              }),
            sources: z
              .array(
                responseSchema(
                  'SourcePrice',
                  'The last price of a source',
                  z.strictObject({
                    source: z.string().describe('Where it came from'),
                    price: money,
                    observedAtMs: timeMs,
                    isFresh: z.boolean().meta({ description: 'Whether it counts for the median' }),
                  }),
                ),
              )
              .meta({ description: 'The last price of each source since the start' }),
          }),
        ),
      )
      .meta({ description: 'The prices of the assets, and where they come from' }),
    nowMs: timeMs.meta({
      description: 'What the clock of the exchange shows, in milliseconds since the epoch',
    }),
  }),
);

export const MetricsText = responseSchema(
  'MetricsText',
  'The Prometheus text format, version 0.0.4',
  z.string(),
);

export const Time = responseSchema(
  'Time',
  'The time of the exchange',
  z.strictObject({
    nowMs: timeMs.meta({
      description: 'What the clock of the exchange shows, in milliseconds since the epoch',
    }),
    sequence,
  }),
);

const bucket = z
  .strictObject({
    perSecond: decimal.min(0).meta({ description: 'Requests per second in the long run' }),
    burst: count.meta({ description: 'Requests that can be sent at once' }),
  })
  .nullable();
const rates = (description: string) =>
  z
    .strictObject({
      user: bucket.meta({ description: 'Of one user; null: no limit' }),
      address: bucket.meta({ description: 'Of one address; null: no limit' }),
    })
    .meta({ description });

export const Limits = responseSchema(
  'Limits',
  'What clients must keep to',
  z.strictObject({
    ruleSet: count.meta({ description: 'The set of rules in force' }),
    feeRate: decimal.meta({ description: 'The part of what a buy spends that is charged on top' }),
    vaultShare: decimal.meta({ description: 'The part of the fees that the vault earns' }),
    tickSize: money.meta({ description: 'US dollars; prices are multiples of it' }),
    lotSize: shares.meta({ description: 'Shares; sizes are multiples of it' }),
    prices: z.enum(['simulated', 'file', 'live']).meta({
      description:
        'Where the prices of assets come from: a simulation, which no real market follows; a file of recorded ones; or exchanges elsewhere',
    }),
    startingBalance: money.meta({
      description: 'US dollars of play money that a new account is given; 0: none',
    }),
    restingOrderValue: money.meta({
      description:
        'US dollars that an order must be worth at its own price when it comes to rest; a sale of all shares of a position may be worth less',
    }),
    maxima: z
      .strictObject({
        orderAmount: money.meta({ description: 'US dollars that one order may spend' }),
        orderShares: shares.meta({ description: 'Shares of one order' }),
        tradesPerOrder: count.meta({
          description:
            'Makers that one order, or the orders of one batch, may trade with; orders that an order group cancels meanwhile count as makers',
        }),
        openOrders: count.meta({ description: 'Resting orders of one user in all markets' }),
        batchOperations: count.meta({ description: 'Operations of one batch' }),
        bodyBytes: count.meta({ description: 'Bytes of a request body' }),
        pageEntries: count.meta({ description: 'Entries in one page of a list' }),
        bookLevels: count.meta({ description: 'Price levels on each side of an order book' }),
        stake: money.meta({ description: 'US dollars of one stake in a vault' }),
        orderGroups: count.meta({ description: 'Order groups of one user' }),
        vaultDeposits: count.meta({ description: 'Open vault deposits of one user' }),
        referralCodes: count.meta({ description: 'Referral codes of one user over time' }),
        idempotencyKeys: count.meta({
          description:
            'Idempotency keys kept for one user; fewer as they fill up, and for accounts that have not paid a dollar of fees',
        }),
        idempotencyKeptMs: count.meta({
          description: 'Milliseconds for which an idempotency key is kept',
        }),
      })
      .meta({ description: 'The largest values that the exchange accepts' }),
    rates: z
      .strictObject({
        orders: rates('Changes; a batch counts as its operations'),
        cancels: rates('Cancels, apart from orders; so is a batch that only cancels'),
        reads: rates('Reads'),
        signIns: rates('Requests that hash a password, and new tokens'),
      })
      .meta({ description: 'The limits on requests' }),
  }),
);
