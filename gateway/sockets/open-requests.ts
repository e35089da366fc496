/**
 * In a socket thread: the requests that are not answered, by place. A place is free again once its
 * request is answered, or its client has left; what comes later for it has another number.
 */
import type * as uWS from 'uWebSockets.js';
import type { AddressKey } from '../fair-use/addresses.js';
import type { Recipient } from '../http/answers/unsent-answers.js';
import type { Receivable } from '../http/body.js';
import type { Request } from '../http/request.js';

export class OpenRequest implements Recipient, Receivable<OpenRequest> {
  readonly receivedMs: number;
  isReceiving = false;
  older: OpenRequest | null = null;
  newer: OpenRequest | null = null;
  /** The frame without the body, until it is handed over; null: it is in the thread's builder. */
  head: Uint8Array | null = null;
  isHandedOver = false;
  /** An answer that comes in parts, and how much of it is here. */
  parts: Buffer | null = null;
  partsLength = 0;

  constructor(
    readonly place: number,
    readonly number: number,
    readonly request: Request,
    readonly response: uWS.HttpResponse,
    nowMs: number,
  ) {
    this.receivedMs = nowMs;
  }

  /** Only read while the response is open. */
  get address(): AddressKey {
    return this.request.addressFrom(this.response);
  }
}

export class OpenRequests {
  private readonly places: (OpenRequest | null)[] = [];
  private readonly free: number[] = [];
  private lastNumber = 0;

  open(request: Request, response: uWS.HttpResponse, nowMs: number): OpenRequest {
    const place = this.free.pop() ?? this.places.length;
    this.lastNumber = (this.lastNumber + 1) >>> 0;
    const open = new OpenRequest(place, this.lastNumber, request, response, nowMs);
    this.places[place] = open;
    return open;
  }

  /** null: the request is over. */
  at(place: number, number: number): OpenRequest | null {
    const open = this.places[place] ?? null;
    return open?.number === number ? open : null;
  }

  /** Returns false if the request was over already. */
  close(open: OpenRequest): boolean {
    if (this.places[open.place] !== open) return false;
    this.places[open.place] = null;
    this.free.push(open.place);
    return true;
  }
}
