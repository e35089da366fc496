/**
 * The handshake: the HTTP request that becomes a WebSocket, or is refused with an error of the API.
 *
 * The credential is the header x-user-token or, without it, the session cookie; none is required,
 * and none is read from the URL. An invalid one is refused, not ignored. The cookie is accepted
 * only from the site's own pages, because browsers let any page open a WebSocket to any host. For
 * fair use, a handshake is a read of its address.
 */
import type * as uWS from 'uWebSockets.js';
import { isAllowed } from '../auth/allowed-addresses.js';
import { readSessionCookie } from '../auth/cookie.js';
import { isSameSite } from '../auth/same-site.js';
import type { Session } from '../auth/sessions.js';
import type { AddressKey } from '../fair-use/addresses.js';
import { Bill } from '../fair-use/fair-use.js';
import { writeError } from '../http/answers/write-error.js';
import { type ErrorAnswer, errorAnswer, rateLimited, UNAVAILABLE } from '../http/errors.js';
import type { Gateway } from '../http/gateway.js';
import type { Request } from '../http/request.js';

/** The upgrade request. `raw` and `context` are uWebSockets.js's own objects. */
interface UpgradeRequest {
  response: uWS.HttpResponse;
  request: Request;
  raw: uWS.HttpRequest;
  context: uWS.us_socket_context_t;
}

/** Opens the connection; `session`: null if nobody is signed in. */
export type Open = (handshake: Handshake, session: Session | null) => void;

export class Handshake {
  readonly address: AddressKey;
  /** The same address in full, in its IPv6 form of 16 bytes. */
  readonly addressBytes: Uint8Array;
  private readonly key: string;
  private readonly extensions: string;
  /** Empty: none was sent. */
  readonly token: string;
  private readonly isCrossSite: boolean;
  private isOver = false;

  /** Copies everything that is needed, because `raw` is invalid after its callback. */
  constructor(
    private readonly gateway: Gateway,
    private readonly upgrade: UpgradeRequest,
  ) {
    const { response, request, raw } = upgrade;
    this.address = request.addressFrom(response);
    this.addressBytes = request.addressBytesFrom(response);
    this.key = raw.getHeader('sec-websocket-key');
    this.extensions = raw.getHeader('sec-websocket-extensions');
    const { userToken } = request;
    const cookieToken = userToken === '' ? readSessionCookie(request.cookie) : '';
    this.token = userToken === '' ? cookieToken : userToken;
    this.isCrossSite = cookieToken !== '' && !isSameSite(request, gateway.config.siteOrigins);
    response.onAborted(() => {
      this.isOver = true;
    });
  }

  /** Checks the credential and calls `open`, or refuses. Only within the request's callback. */
  begin(open: Open): void {
    if (this.gateway.isStopping()) this.refuseUnavailable();
    else if (!this.isAllowed()) return;
    else if (this.token === '') open(this, null);
    else this.authenticate(open);
  }

  /**
   * Upgrades to a WebSocket. Only within {@link begin}: later, uWebSockets.js may treat the
   * connection as the HTTP connection that it was, and close it.
   */
  accept<Data>(data: Data): void {
    this.isOver = true;
    // No subprotocol is supported. A client that requests one sees that none was selected.
    const { response, context } = this.upgrade;
    response.upgrade(data, this.key, '', this.extensions, context);
  }

  refuseUnavailable(): void {
    this.refuse(UNAVAILABLE);
  }

  /** The user or the address has too many connections. */
  refuseLimitReached(message: string): void {
    this.refuse(errorAnswer('limit_reached', {}, message));
  }

  private isAllowed(): boolean {
    const result = this.gateway.fairUse.charge('reads', new Bill(this), 1);
    if (result === null || result.granted) return true;
    const { error, retryAfter } = rateLimited(result.waitMs);
    this.refuse(error, ['Retry-After', retryAfter]);
    return false;
  }

  private authenticate(open: Open): void {
    const { sessions, sequencer } = this.gateway;
    const session = sessions.check(this.token, sequencer.engine);
    if (typeof session === 'string') this.refuse(errorAnswer(session));
    else if (this.isCrossSite) this.refuse(errorAnswer('cross_site_request'));
    else if (!isAllowed(session.allowedAddresses, this.addressBytes))
      this.refuse(errorAnswer('address_not_allowed'));
    else {
      session.lastUsedAtMs = sequencer.engine.nowMs;
      open(this, session);
    }
  }

  /** Tokens are part of the exchange's state, so the answer waits until that is durable. */
  private refuse(error: ErrorAnswer, header: readonly [string, string] | null = null): void {
    const { sequencer, unsent } = this.gateway;
    const release = () => {
      if (this.isOver) return;
      this.isOver = true;
      const { response } = this.upgrade;
      response.cork(() => writeError(response, error, { unsent, isHead: false, header }));
    };
    sequencer.releaseAt(sequencer.engine.sequence, { release });
  }
}
