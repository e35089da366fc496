/** For operators and load balancers: is the process alive, may it get traffic, and where does it stand. */

import { errorAnswer } from '../../http/errors.js';
import { defineRoute, type Route } from '../../http/route.js';
import * as answers from '../../json/answers.js';
import * as requests from '../../json/requests.js';
import { METRICS_TYPE } from '../../observe/metrics.js';
import * as examples from './examples.js';

export const operationRoutes: Route[] = [
  defineRoute({
    method: 'GET',
    path: '/health',
    access: 'open',
    quota: null,
    summary: 'Alive',
    query: requests.NoQuery,
    responses: { 200: answers.Health },
    example: examples.health,
    handle(call) {
      call.answer(200, '{"status":"ok"}');
    },
  }),

  defineRoute({
    method: 'GET',
    path: '/ready',
    access: 'open',
    quota: null,
    summary: 'Ready for traffic; else 503',
    query: requests.NoQuery,
    responses: { 200: answers.Ready },
    example: examples.ready,
    handle(call) {
      const { gateway } = call;
      const reason = gateway.notReady();
      const warning = gateway.warning();
      if (reason !== null) call.answerError(errorAnswer('unavailable', { executed: false, reason }));
      else if (warning === null) call.answer(200, '{"status":"ready"}');
      else call.answer(200, JSON.stringify({ status: 'ready', warning }));
    },
  }),

  defineRoute({
    method: 'GET',
    path: '/status',
    access: 'open',
    summary: 'Version, sequence and digest',
    query: requests.NoQuery,
    responses: { 200: answers.Status },
    example: examples.status,
    handle(call) {
      const { engine, gateway } = call;
      call.answer(
        200,
        `{"version":${JSON.stringify(gateway.version)},"sequence":${engine.sequence}` +
          `,"durableSequence":${gateway.sequencer.durableSequence},"digest":"${engine.digest()}"` +
          `,"startedAtMs":${gateway.startedAtMs}}`,
      );
    },
  }),

  defineRoute({
    method: 'GET',
    path: '/metrics',
    access: 'open',
    quota: null,
    summary: 'Metrics, in the text form of Prometheus',
    query: requests.NoQuery,
    produces: METRICS_TYPE,
    responses: { 200: answers.MetricsText },
    example: examples.metrics,
    async handle(call) {
      const { metrics } = call.gateway;
      const text = await metrics.text();
      if (call.isOver) return;
      call.answer(200, text);
    },
  }),
];
