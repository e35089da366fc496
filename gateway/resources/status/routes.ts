/** For operators and load balancers: health, readiness, status, metrics. */
import { errorAnswer } from '../../http/errors.js';
import { defineRoute, type Route } from '../../http/route.js';
import { serializer } from '../../json/serializer.js';
import { METRICS_TYPE } from '../../observe/metrics.js';
import * as examples from './examples.js';
import { Health, MetricsText, Ready, Status } from './schemas.js';

const healthText = serializer(Health);
const readyText = serializer(Ready);
const statusText = serializer(Status);

export const operationRoutes: Route[] = [
  defineRoute({
    method: 'GET',
    path: '/health',
    access: 'open',
    quota: null,
    summary: 'Alive',
    responses: { 200: Health },
    example: examples.health,
    handle(call) {
      call.answer(200, healthText({ status: 'ok' }));
    },
  }),

  defineRoute({
    method: 'GET',
    path: '/ready',
    access: 'open',
    quota: null,
    summary: 'Ready for traffic, or 503',
    responses: { 200: Ready },
    example: examples.ready,
    handle(call) {
      const { gateway } = call;
      const reason = gateway.notReady();
      const warning = gateway.warning();
      const unavailable = { executed: false, reason };
      const ready = { status: 'ready', ...(warning === null ? {} : { warning }) } as const;
      if (reason !== null) call.answerError(errorAnswer('unavailable', unavailable));
      else call.answer(200, readyText(ready));
    },
  }),

  defineRoute({
    method: 'GET',
    path: '/status',
    access: 'open',
    summary: 'Version, sequence and digest',
    responses: { 200: Status },
    example: examples.status,
    handle(call) {
      const { sequence } = call.engine;
      const { version, startedAtMs, sequencer } = call.gateway;
      const { durableSequence } = sequencer;
      const digest = call.engine.digest();
      call.answer(200, statusText({ version, sequence, durableSequence, digest, startedAtMs }));
    },
  }),

  defineRoute({
    method: 'GET',
    path: '/metrics',
    access: 'open',
    quota: null,
    summary: 'Metrics in the Prometheus text format',
    produces: METRICS_TYPE,
    responses: { 200: MetricsText },
    example: examples.metrics,
    async handle(call) {
      const text = await call.gateway.metrics.text();
      if (!call.isOver) call.answer(200, text);
    },
  }),
];
