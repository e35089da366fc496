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
      if (reason !== null)
        call.answerError(errorAnswer('unavailable', { executed: false, reason }));
      else
        call.answer(200, readyText({ status: 'ready', ...(warning === null ? {} : { warning }) }));
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
      const { engine, gateway } = call;
      call.answer(
        200,
        statusText({
          version: gateway.version,
          sequence: engine.sequence,
          durableSequence: gateway.sequencer.durableSequence,
          digest: engine.digest(),
          startedAtMs: gateway.startedAtMs,
        }),
      );
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
      const { metrics } = call.gateway;
      const text = await metrics.text();
      if (call.isOver) return;
      call.answer(200, text);
    },
  }),
];
