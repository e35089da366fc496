/** Health, readiness, status and metrics for operators; time and limits for client authors. */

import { z } from 'zod';
import { SOURCE_FRESH_MS } from '../../../engine/interface/parameters.js';
import type { Reads } from '../../../engine/reads.js';
import { DERIVED_PARTS } from '../../../persistence/follower/troubles.js';
import { METRICS_UNITS } from '../../access/fair-use/charges.js';
import { errorAnswer } from '../../commands/errors.js';
import { defineRoute, type Route } from '../../http/route.js';
import type { PriceTicks } from '../../inputs/price-ticks.js';
import { responseObject, responseSchema } from '../../json/components.js';
import { micros } from '../../json/decimal.js';
import * as response from '../../json/response-fields.js';
import { jsonText } from '../../json/serializer.js';
import { METRICS_TYPE } from '../../observe/metrics.js';
import { Limits, limitsOf } from './limits.js';
import { pausesIn } from './pauses.js';

export const Health = responseObject('Health', 'The process is alive', {
  status: z.literal('ok').describe('The state'),
});

const failing = z
  .array(z.enum(DERIVED_PARTS))
  .describe(
    'Derived data that cannot be produced now; its reads are refused. Trading does not depend on it',
  );

const behindMs = response.count.describe(
  'For a replica, the greatest possible age of its state in milliseconds: the state includes everything acknowledged before that',
);

export const Ready = responseObject('Ready', 'The exchange accepts traffic', {
  status: z.literal('ready').describe('The state'),
  warning: z
    .string()
    .optional()
    .describe(
      'Trading continues, but a part is failing and is being retried. The log contains the details.',
    ),
  failing: failing.optional(),
  behindMs: behindMs.optional(),
});

export const Status = responseObject('Status', 'The progress of the exchange', {
  version: z.string().describe('The version of the program'),
  ...response.state,
  durableSequence: response.sequence,
  digest: z
    .string()
    .regex(/^[0-9a-f]{16}$/)
    .describe('A running hash of all results and events, as 16 hex digits'),
  journal: z
    .enum(['local', 'replicated', 'unreplicated'])
    .describe(
      'Where an acknowledged command is stored: on the disk of this machine (local), on two machines ' +
        '(replicated), or in a database without replication, for development (unreplicated)',
    ),
  role: z
    .enum(['leader', 'standby', 'replica'])
    .describe(
      'leader: executes commands; replica: serves reads and forwards all other requests; standby: waits to lead',
    ),
  epoch: response.count
    .nullable()
    .describe('The leader’s number in a replicated journal; null if the journal is local'),
  behindMs: behindMs.nullable(),
  paused: z.array(z.string()).describe('What takes no new orders: everything, assets, or markets'),
  failing,
  journalDamaged: z
    .boolean()
    .describe(
      'Whether a part of the journal before the newest snapshot is damaged or missing. Trading does not need it',
    ),
  startedAtMs: response.timeMs,
  prices: z
    .array(
      responseObject('AssetPrice', 'The price of an asset, and where it comes from', {
        asset: response.asset,
        price: response.money.nullable().describe('The current price; null before the first price'),
        observedAtMs: response.timeMs
          .nullable()
          .describe('When the price was observed, in milliseconds since the epoch'),
        held: z
          .strictObject({
            price: response.money,
            sinceMs: response.timeMs.describe('When the first held price arrived'),
          })
          .nullable()
          .describe('The price held back because it is far from the last one; null if none'),
        sources: z
          .array(
            responseObject('SourcePrice', 'The last price of a source', {
              source: z.string().describe('The source’s name'),
              price: response.money,
              observedAtMs: response.timeMs,
              isFresh: z.boolean().describe('Whether the price counts for the median'),
            }),
          )
          .describe('Each source’s last price since startup'),
      }),
    )
    .describe('The assets’ prices and their sources'),
  nowMs: response.timeMs.describe('The exchange’s clock, in milliseconds since the epoch'),
});

export const MetricsText = responseSchema(
  'MetricsText',
  'The Prometheus text format, version 0.0.4',
  z.string(),
);

export const Time = responseObject('Time', 'The time of the exchange', {
  nowMs: response.timeMs.describe('The exchange’s clock, in milliseconds since the epoch'),
  sequence: response.sequence,
});

const OF_PROCESS = { access: 'open', answeredBy: 'process' } as const;

export const operationRoutes: Route[] = [
  defineRoute('GET', '/health', {
    ...OF_PROCESS,
    quota: null,
    summary: 'Alive',
    responses: { 200: Health },
    handle(call) {
      call.answerOfProcess(200, jsonText<typeof Health>({ status: 'ok' }));
    },
  }),

  defineRoute('GET', '/ready', {
    ...OF_PROCESS,
    quota: null,
    summary: 'Ready for traffic, or 503',
    responses: { 200: Ready },
    handle(call) {
      const { gateway } = call;
      const reason = gateway.notReady();
      const warning = gateway.warning();
      const unavailable = { executed: false, reason };
      const { failing } = gateway.standing;
      const behindMs = gateway.behindMs();
      const ready = {
        status: 'ready',
        ...(warning === null ? {} : { warning }),
        ...(failing.length === 0 ? {} : { failing }),
        ...(behindMs === null ? {} : { behindMs }),
      } as const;
      if (reason === null) call.answerOfProcess(200, jsonText<typeof Ready>(ready));
      else call.answerOfProcess(503, errorAnswer('unavailable', unavailable).text);
    },
  }),

  defineRoute('GET', '/status', {
    ...OF_PROCESS,
    summary: 'Version, sequence and digest',
    responses: { 200: Status },
    handle(call) {
      const { version, startedAtMs, sequencer, clock, config, priceTicks, standing } = call.gateway;
      const { role, epoch } = standing.leading;
      const { durableSequence } = sequencer;
      const digest = call.engine.digest();
      const progress = { version, ...call.asOf, durableSequence, digest };
      const journal = journalKind(config.journal);
      const nowMs = clock.nowMs();
      const prices = pricesOf(call.engine, priceTicks, nowMs);
      call.answerJson<typeof Status>({
        ...progress,
        journal,
        role,
        epoch,
        behindMs: call.gateway.behindMs(),
        paused: pausesIn(call.engine),
        failing: standing.failing,
        journalDamaged: standing.damaged === 1,
        startedAtMs,
        prices,
        nowMs,
      });
    },
  }),

  defineRoute('GET', '/time', {
    ...OF_PROCESS,
    summary: 'The exchange’s time, which decides when markets start and end',
    responses: { 200: Time },
    handle(call) {
      const { clock, sequencer } = call.gateway;
      // Already durable, so the answer does not wait for the disk and the time is current.
      const sequence = sequencer.durableSequence;
      call.answerJson<typeof Time>({ nowMs: clock.nowMs(), sequence }, sequence);
    },
  }),

  defineRoute('GET', '/limits', {
    ...OF_PROCESS,
    access: 'public',
    summary: 'The fee, sizes, maxima and rate limits; with a token, your own',
    responses: { 200: Limits },
    handle(call) {
      // Shows the engine's state, so the answer waits until that state is durable.
      const { config, fairUse } = call.gateway;
      const rateTier = call.engine.account(call.session?.userId ?? 0)?.rateTier ?? 1;
      const limits = limitsOf(fairUse.rates, call.engine.rules(), rateTier, config);
      call.answerJson<typeof Limits>(limits);
    },
  }),

  defineRoute('GET', '/metrics', {
    ...OF_PROCESS,
    quota: null,
    units: () => METRICS_UNITS,
    summary:
      'Metrics in the Prometheus text format; only at the operators’ address, if there is one',
    produces: [METRICS_TYPE],
    responses: { 200: MetricsText },
    async handle(call) {
      const text = await call.gateway.metrics.text();
      if (!call.isOver) call.answerOfProcess(200, text);
    },
  }),
];

function journalKind(journal: { isUnreplicated: boolean } | null) {
  if (journal === null) return 'local';
  return journal.isUnreplicated ? 'unreplicated' : 'replicated';
}

function pricesOf(engine: Reads, ticks: PriceTicks, nowMs: number) {
  return Array.from({ length: engine.assetCount }, (_, asset) => {
    const symbol = engine.assetSymbol(asset);
    const priceMicros = engine.assetPriceMicros(asset);
    const held = engine.heldPrice(asset);
    return {
      asset: symbol,
      price: priceMicros === null ? null : micros(priceMicros),
      observedAtMs: engine.assetPriceObservedAtMs(asset),
      held: held === null ? null : { price: micros(held.priceMicros), sinceMs: held.sinceMs },
      sources: ticks.of(symbol).map(({ source, priceMicros, observedAtMs }) => {
        const isFresh = observedAtMs >= nowMs - SOURCE_FRESH_MS;
        return { source, price: micros(priceMicros), observedAtMs, isFresh };
      }),
    };
  });
}
