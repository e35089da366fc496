/**
 * On the leader: a client's request that a replica has forwarded. It passes the same routes, limits
 * and checks as one from the public port; only its address comes from the replica, and its answer
 * goes there, as a frame.
 */
import { type AddressKey, addressKey } from '../fair-use/addresses.js';
import { Call } from '../http/call.js';
import type { Gateway } from '../http/gateway.js';
import type { RawRequest, Request } from '../http/request.js';
import type { Route } from '../http/route.js';
import { textBuffers } from '../json/text-buffers.js';
import type { AnswerCounts } from '../observe/metrics.js';
import {
  type AnswerHead,
  FrameError,
  FrameKind,
  frameOf,
  type RequestHead,
} from './link-frames.js';

/** What a replica sent of a request, as {@link Request} reads it. */
export function rawRequest({ query, headers, parameters }: RequestHead): RawRequest {
  return {
    getQuery: () => query,
    forEach(read) {
      for (let i = 0; i < headers.length; i += 2) read(headers[i]!, headers[i + 1]!);
    },
    getParameter: (index) => parameters[index],
  };
}

const ADDRESS = /^(?:[0-9a-f]{32})?$/;

/** 16 bytes; no bytes: it is unknown. @throws FrameError for another text */
export function addressIn(hex: string): Uint8Array {
  if (!ADDRESS.test(hex)) throw new FrameError('an address is not 16 bytes in hex');
  return new Uint8Array(Buffer.from(hex, 'hex'));
}

interface ForwardedOptions {
  gateway: Gateway;
  /** null: this exchange has no such route. */
  route: Route | null;
  counts: AnswerCounts;
  request: Request;
  number: number;
  addressBytes: Uint8Array;
  /** Sends a frame to the replica. */
  reply: (frame: Uint8Array) => void;
  onEnd: (call: Call) => void;
}

export class ForwardedCall extends Call {
  readonly number: number;
  private sequence = 0;

  constructor(private readonly options: ForwardedOptions) {
    const { gateway, route, counts, request, onEnd } = options;
    super(gateway, route, counts, request, null, onEnd);
    this.number = options.number;
  }

  override get address(): AddressKey {
    return addressKey(this.addressBytes.slice().buffer as ArrayBuffer);
  }

  override get addressBytes(): Uint8Array {
    return this.options.addressBytes;
  }

  override answerWhenDurable(
    status: number,
    text: string | Uint8Array,
    sequence = this.engine.sequence,
  ): void {
    this.sequence = sequence;
    super.answerWhenDurable(status, text, sequence);
  }

  protected override send(): void {
    const { status, contentType, headers, body } = this.answerToRelay;
    const { sequence, userId } = this;
    const head: AnswerHead = { status, contentType, headers, sequence, userId };
    this.options.reply(frameOf(FrameKind.answer, this.number, JSON.stringify(head), body));
    // The frame has a copy.
    if (typeof body !== 'string') textBuffers.give(body);
  }
}
