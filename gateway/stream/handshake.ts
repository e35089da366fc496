/**
 * The way in: the HTTP request that becomes a WebSocket, or is refused with an error of the API's table.
 *
 * A connection may come without a credential, with the header x-user-token or with the session cookie; never with one in the
 * URL. With the header, the cookie does not count. A credential that is not good is refused here rather than ignored. The
 * cookie counts only for the site's own pages: browsers let every page open a WebSocket to anywhere.
 *
 * For fair use a handshake is a read of its address.
 */

import type * as uWS from 'uWebSockets.js';
import { readSessionCookie } from '../auth/cookie.js';
import { isSameSite } from '../auth/same-site.js';
import type { Session } from '../auth/sessions.js';
import type { AddressKey } from '../fair-use/addresses.js';
import { type ErrorAnswer, errorAnswer, rateLimited } from '../http/errors.js';
import type { Gateway } from '../http/gateway.js';
import type { Request } from '../http/request.js';
import { requestAddress } from '../http/request-address.js';
import { writeError } from '../http/write-error.js';
import { readToken, refusalOf } from './credentials.js';

/** The request, as uWebSockets.js hands it over, and what the door read of it. */
export interface UpgradeRequest {
  response: uWS.HttpResponse;
  request: uWS.HttpRequest;
  context: uWS.us_socket_context_t;
  incoming: Request;
}

/** Lets the connection in; `session` is null for a visitor. */
export type Enter = (handshake: Handshake, session: Session | null) => void;

export class Handshake {
  private readonly key: string;
  private readonly extensions: string;
  private readonly token: string;
  private readonly isCrossSite: boolean;
  /** Where the client is. */
  readonly address: AddressKey;
  private isOver = false;

  private readonly response: uWS.HttpResponse;
  private readonly context: uWS.us_socket_context_t;

  /** All that is needed is copied: the request dies with its callback. */
  constructor(
    private readonly gateway: Gateway,
    { response, request, context, incoming }: UpgradeRequest,
  ) {
    const { siteOrigins } = gateway.config;
    this.response = response;
    this.context = context;
    this.key = request.getHeader('sec-websocket-key');
    this.extensions = request.getHeader('sec-websocket-extensions');
    const { userToken } = incoming;
    const cookieToken = userToken === '' ? readSessionCookie(incoming.cookie) : '';
    this.isCrossSite = cookieToken !== '' && !isSameSite(incoming, siteOrigins);
    this.token = userToken === '' ? cookieToken : userToken;
    this.address = requestAddress(response, incoming);
    response.onAborted(() => {
      this.isOver = true;
    });
  }

  /** Finds out who it is, and calls `enter` or refuses. To be called within the callback of the request. */
  begin(enter: Enter): void {
    if (this.gateway.isStopping()) this.refuseUnavailable();
    else if (!this.isWelcome()) return;
    else if (this.token === '') enter(this, null);
    else this.identify(enter);
  }

  /**
   * The request becomes a WebSocket. Only within {@link begin}: uWebSockets.js may take one that is let in later for the HTTP
   * connection that it was, and close it.
   */
  accept<Data>(data: Data): void {
    this.isOver = true;
    // No subprotocol is spoken here; a client that asks for one sees that it did not get it.
    this.response.upgrade(data, this.key, '', this.extensions, this.context);
  }

  refuseUnavailable(): void {
    this.refuse(errorAnswer('unavailable', { executed: false }));
  }

  /** There are too many connections of this user, or from this address. */
  refuseMore(message: string): void {
    this.refuse(errorAnswer('limit_reached', {}, message));
  }

  private isWelcome(): boolean {
    const share = this.gateway.fairUse.take('reads', 'address', this.address, 1);
    if (share === null || share.granted) return true;
    const { error, retryAfter } = rateLimited(share.waitMs);
    this.refuse(error, ['Retry-After', retryAfter]);
    return false;
  }

  private identify(enter: Enter): void {
    const session = readToken(this.gateway.sessions, this.gateway.sequencer.engine, this.token);
    const refusal = refusalOf(this.gateway.sequencer.engine, session);
    if (refusal !== null) this.refuse(refusal);
    else if (this.isCrossSite) this.refuse(errorAnswer('cross_site_request'));
    else enter(this, session);
  }

  /** Whether a token stands is the exchange's state, so the answer waits until that is durable. */
  private refuse(error: ErrorAnswer, header: readonly [string, string] | null = null): void {
    const { sequencer } = this.gateway;
    const release = () => {
      if (this.isOver) return;
      this.isOver = true;
      this.response.cork(() =>
        writeError(this.response, error, { unsent: this.gateway.unsent, isHead: false, header }),
      );
    };
    sequencer.releaseAt(sequencer.engine.sequence, { release });
  }
}
