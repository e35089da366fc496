/**
 * For operators and load balancers: health, readiness, status, metrics. For client authors: the
 * time and the limits.
 */
import { errorAnswer } from '../../http/errors.js';
import { defineRoute, type Route } from '../../http/route.js';
import { jsonText } from '../../json/serializer.js';
import { METRICS_TYPE } from '../../observe/metrics.js';
import { limitsOf } from './limits.js';
import { pausesIn } from './pauses.js';
import { pricesOf } from './prices.js';
import { Health, Limits, MetricsText, Ready, Status, Time } from './schemas.js';

export const operationRoutes: Route[] = [
  defineRoute({
    method: 'GET',
    path: '/health',
    access: 'open',
    answeredBy: 'process',
    quota: null,
    summary: 'Alive',
    responses: { 200: Health },
    handle(call) {
      // Without state, so it is answered even while the disk stands still.
      const { durableSequence } = call.gateway.sequencer;
      call.answerWhenDurable(200, jsonText<typeof Health>({ status: 'ok' }), durableSequence);
    },
  }),

  defineRoute({
    method: 'GET',
    path: '/ready',
    access: 'open',
    answeredBy: 'process',
    quota: null,
    summary: 'Ready for traffic, or 503',
    responses: { 200: Ready },
    handle(call) {
      const { gateway } = call;
      const reason = gateway.notReady();
      const warning = gateway.warning();
      const unavailable = { executed: false, reason };
      const ready = { status: 'ready', ...(warning === null ? {} : { warning }) } as const;
      if (reason !== null) call.refuseWhenDurable(errorAnswer('unavailable', unavailable));
      else call.answerWhenDurable(200, jsonText<typeof Ready>(ready));
    },
  }),

  defineRoute({
    method: 'GET',
    path: '/status',
    access: 'open',
    answeredBy: 'process',
    summary: 'Version, sequence and digest',
    responses: { 200: Status },
    handle(call) {
      const { version, startedAtMs, sequencer, clock, config, priceTicks, standing } = call.gateway;
      const { role, epoch } = standing.leading;
      const { durableSequence } = sequencer;
      const digest = call.engine.digest();
      const progress = { version, ...call.trueAt, durableSequence, digest };
      const journal = journalKind(config.journal);
      const nowMs = clock.nowMs();
      const prices = pricesOf(call.engine, priceTicks, nowMs);
      call.answerWhenDurable(
        200,
        jsonText<typeof Status>({
          ...progress,
          journal,
          role,
          epoch,
          paused: pausesIn(call.engine),
          startedAtMs,
          prices,
          nowMs,
        }),
      );
    },
  }),

  defineRoute({
    method: 'GET',
    path: '/time',
    access: 'open',
    answeredBy: 'process',
    summary: 'The time of the exchange, which decides when markets start and end',
    responses: { 200: Time },
    handle(call) {
      const { clock, sequencer } = call.gateway;
      // Already durable, so the answer does not wait for the disk and its time is not old.
      const sequence = sequencer.durableSequence;
      call.answerWhenDurable(
        200,
        jsonText<typeof Time>({ nowMs: clock.nowMs(), sequence }),
        sequence,
      );
    },
  }),

  defineRoute({
    method: 'GET',
    path: '/limits',
    access: 'open',
    answeredBy: 'process',
    summary: 'The fee, sizes, maxima and rate limits',
    responses: { 200: Limits },
    handle(call) {
      // Shows the engine's state, so the answer waits until that is durable.
      const { config, fairUse } = call.gateway;
      const limits = limitsOf(fairUse.rates, call.engine.rules(), config);
      call.answerWhenDurable(200, jsonText<typeof Limits>(limits));
    },
  }),

  defineRoute({
    method: 'GET',
    path: '/metrics',
    access: 'open',
    answeredBy: 'process',
    quota: null,
    summary: 'Metrics in the Prometheus text format',
    produces: [METRICS_TYPE],
    responses: { 200: MetricsText },
    async handle(call) {
      const text = await call.gateway.metrics.text();
      if (!call.isOver) call.answerWhenDurable(200, text);
    },
  }),
];

function journalKind(journal: { isUnreplicated: boolean } | null) {
  if (journal === null) return 'local';
  return journal.isUnreplicated ? 'unreplicated' : 'replicated';
}
