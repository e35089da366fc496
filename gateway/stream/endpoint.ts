/** The stream's path and socket options, which all processes with sockets share. */

import { errorAnswer, invalidRequest } from '../commands/errors.js';
import { chargeReads, writeError } from '../http/answers/write-error.js';
import type { Serving } from '../http/gateway.js';
import type { Router } from '../http/router.js';

export const STREAM_PATH = '/api/stream';
const ALLOW = ['Allow', 'GET'] as const;
/** The largest HTTP order or batch, and the envelope. Larger frames end the connection. */
export const FRAME_BYTES = 65 * 1024;

export const SOCKET_BEHAVIOR = {
  maxPayloadLength: FRAME_BYTES,
  // Backlogs closes slow readers with a code before they use too much memory.
  maxBackpressure: 0,
  // Closes sockets whose client does not read its last data. Heartbeats watch all others.
  idleTimeout: 120,
  sendPingsAutomatically: false,
};

export function serveNoUpgrade(router: Router, server: Serving): void {
  const { unsent } = server;
  router.on('get', STREAM_PATH, (response, request) => {
    if (!chargeReads(server, response, request)) return;
    const error = invalidRequest({ Upgrade: 'must be websocket' });
    writeError(response, error, { unsent, isHead: false });
  });
  router.on('any', STREAM_PATH, (response, request) => {
    if (!chargeReads(server, response, request)) return;
    const options = { unsent, isHead: request.method === 'head', header: ALLOW };
    writeError(response, errorAnswer('method_not_allowed'), options);
  });
}
