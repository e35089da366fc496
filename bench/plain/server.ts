/**
 * The plain design, for comparison: node:http, and one SQLite transaction with synchronous=FULL per
 * order. It has no sessions, fee escrow, idempotency, limits, stream or history.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { PlainExchange, type PlainSetup } from './exchange.js';

const ROUTE = /^\/api\/markets\/15m\/([^/]+)\/buy$/;

function respond(response: ServerResponse, status: number, answer: object): void {
  const text = JSON.stringify(answer);
  response.writeHead(status, {
    'Content-Type': 'application/json',
    'Cache-Control': 'no-store',
    'Content-Length': Buffer.byteLength(text),
  });
  response.end(text);
}

function buy(exchange: PlainExchange, request: IncomingMessage, response: ServerResponse): void {
  const pieces: Buffer[] = [];
  request.on('data', (piece: Buffer) => pieces.push(piece));
  request.on('end', () => {
    const marketId = ROUTE.exec(request.url ?? '')?.[1];
    const token = request.headers['x-user-token'];
    if (request.method !== 'POST' || marketId === undefined || typeof token !== 'string') {
      respond(response, 404, { error: 'not_found' });
      return;
    }
    const order = JSON.parse(Buffer.concat(pieces).toString());
    const receipt = exchange.buy(token, marketId, order);
    if (receipt === null) respond(response, 422, { error: 'insufficient' });
    else respond(response, 200, receipt);
  });
}

process.once('message', ({ folder, ...setup }: PlainSetup & { folder: string }) => {
  const exchange = new PlainExchange(join(folder, 'plain.db'), setup);
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) =>
    buy(exchange, request, response),
  );
  server.listen(0, '127.0.0.1', () => {
    process.send!({ port: (server.address() as AddressInfo).port });
  });
});
process.on('disconnect', () => process.exit(0));
