/**
 * A standby's answers: /api/health, /api/status, /api/metrics, and 503 `unavailable` otherwise. The
 * reason is `recovering` until the engine is warm, then `standby`, with the leader's address. Each
 * answer closes its connection, so that none is left when the exchange itself listens.
 */
import type { HttpResponse } from 'uWebSockets.js';
import type { ErrorAnswer } from '../commands/errors.js';
import { answerLater } from '../http/answers/closing-answer.js';
import { JSON_TYPE, writeHead, writeStatus } from '../http/answers/response-head.js';
import { type Refuse, Router } from '../http/router.js';
import { METRICS_TYPE } from '../observe/metrics.js';
import type { Config } from './config.js';

const RETRY_AFTER_S = '1';

export class WaitingServer {
  private readonly router: Router;

  constructor(
    { trustProxy, tls }: Pick<Config, 'trustProxy' | 'tls'>,
    status: () => object,
    metrics: () => string,
    refusal: () => ErrorAnswer,
  ) {
    const refuse: Refuse = (response) =>
      answerLater(response, () => write(response, 503, refusal().text));
    this.router = new Router(trustProxy, refuse, tls);
    const routes: [path: string, answer: (response: HttpResponse) => void][] = [
      ['/api/health', (response) => answer(response, 200, '{"status":"ok"}')],
      ['/api/status', (response) => answer(response, 200, JSON.stringify(status()))],
      ['/api/metrics', (response) => answer(response, 200, metrics(), METRICS_TYPE)],
      ['/*', (response) => answer(response, 503, refusal().text)],
    ];
    for (const [path, handle] of routes) this.router.on('any', path, handle);
  }

  listen(host: string, port: number): Promise<number> {
    return this.router.listen(host, port);
  }

  close(): void {
    this.router.close();
  }
}

function answer(response: HttpResponse, status: number, text: string, type = JSON_TYPE): void {
  response.cork(() => write(response, status, text, type));
}

/** Call corked. */
function write(response: HttpResponse, status: number, text: string, type = JSON_TYPE): void {
  writeStatus(response, status);
  writeHead(response, type, false);
  if (status === 503) response.writeHeader('Retry-After', RETRY_AFTER_S);
  response.writeHeader('Connection', 'close');
  response.end(text, true);
}
