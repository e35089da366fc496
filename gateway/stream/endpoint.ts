/** The path of the stream, wherever its sockets are: what they all have, and who gets no socket. */
import { paysReads, writeError } from '../http/answers/write-error.js';
import { errorAnswer, invalidRequest } from '../http/errors.js';
import type { Serving } from '../http/gateway.js';
import type { Router } from '../http/router.js';

export const STREAM_PATH = '/api/stream';
const ALLOW = ['Allow', 'GET'] as const;
/**
 * A larger frame closes the connection without an error. Orders and batches may have this size: the
 * largest body over HTTP, and what the envelope adds.
 */
export const FRAME_BYTES = 65 * 1024;

export const SOCKET_BEHAVIOR = {
  maxPayloadLength: FRAME_BYTES,
  // Slow readers are closed with a code before they use too much memory.
  maxBackpressure: 0,
  // For closed sockets whose client does not read the rest; open ones have heartbeats.
  idleTimeout: 120,
  sendPingsAutomatically: false,
};

/** Answers requests that do not ask for a WebSocket. */
export function serveNoUpgrade(router: Router, server: Serving): void {
  const { unsent } = server;
  router.on('get', STREAM_PATH, (response, request) => {
    if (!paysReads(server, response, request)) return;
    const error = invalidRequest({ Upgrade: 'must be websocket' });
    writeError(response, error, { unsent, isHead: false });
  });
  router.on('any', STREAM_PATH, (response, request) => {
    if (!paysReads(server, response, request)) return;
    const options = { unsent, isHead: request.method === 'head', header: ALLOW };
    writeError(response, errorAnswer('method_not_allowed'), options);
  });
}
