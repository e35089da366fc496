/** Writes an answer to a connection of this process: head and body in one cork. */
import type { HttpResponse } from 'uWebSockets.js';
import { writeCrossOrigin } from '../../access/cross-origin.js';
import type { AddressKey } from '../../access/fair-use/addresses.js';
import type { Serving } from '../gateway.js';
import type { Request } from '../request.js';
import { type Answer, limitText } from './answer.js';
import { writeAndClose } from './closing-answer.js';
import type { Outlet, Reply } from './reply.js';
import { writeHeadWithId, writeStatus } from './response-head.js';

export class SocketOutlet implements Outlet {
  constructor(
    private readonly server: Serving,
    private readonly request: Request,
    private readonly response: HttpResponse,
  ) {}

  get address(): AddressKey {
    return this.request.addressFrom(this.response);
  }

  get addressBytes(): Uint8Array {
    return this.request.addressBytesFrom(this.response);
  }

  /** Closes the connection as well if free answers flood the address. */
  write(reply: Reply, answer: Answer): void {
    const { status } = answer;
    const isFree = status === 429 || status === 503 || reply.route?.quota === null;
    if (isFree && this.server.fairUse.countFree(this.address)) reply.closeAfterAnswer();
    writing = { outlet: this, reply, answer };
    this.response.cork(writeNow);
  }

  drop(): void {
    this.server.unsent.refuse(this.response);
  }

  writeCorked({ isSecure, route, closesConnection }: Reply, answer: Answer): void {
    const { request, response, server } = this;
    const { status, contentType, headers, rateLimit, body } = answer;
    const isKept = status < 400 && route?.caching === 'public' && !request.saysMe;
    writeStatus(response, status);
    writeHeadWithId(response, body === '' ? '' : contentType, isSecure, request, isKept);
    writeCrossOrigin(response, request.origin, server.config.siteOrigins);
    if (rateLimit !== null) response.writeHeader('RateLimit-Limit', limitText(rateLimit));
    for (let i = 0; i < headers.length; i += 2) response.writeHeader(headers[i]!, headers[i + 1]!);
    if (body === '') writeAndClose(response, '');
    else if (request.method === 'head') writeAndClose(response, '', Buffer.byteLength(body));
    else if (closesConnection) writeAndClose(response, body);
    else {
      if (server.isStopping()) response.writeHeader('Connection', 'close');
      server.unsent.send(response, body, this);
    }
  }
}

/** The answer being written, in a variable to avoid a closure per answer. */
let writing: { outlet: SocketOutlet; reply: Reply; answer: Answer } | null = null;
function writeNow(): void {
  const { outlet, reply, answer } = writing!;
  writing = null;
  outlet.writeCorked(reply, answer);
}
