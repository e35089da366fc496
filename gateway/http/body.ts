/**
 * Receives request bodies, up to a limit. The rest of a larger body is read and discarded, so that
 * the client still receives the answer; far larger bodies are cut off. Large bodies take turns.
 */
import type { HttpResponse } from 'uWebSockets.js';
import { isUtf8 } from 'node:buffer';
import { type Cost, unitsOfBody, unitsOfText } from '../access/fair-use/charges.js';
import { costOfUnread } from '../commands/cancels.js';
import { colonCount } from '../json/repeated-key.js';
import type { AskedBody } from './answers/reply.js';
import { BODY_BYTES_MAX } from './request.js';

/** Real time within which a body must arrive. */
export const BODY_MS_MAX = 5_000;
/** Above this size, the body is cut off instead of discarded. */
const DROPPED_BYTES_MAX = 16 * BODY_BYTES_MAX;
/** A body in more pieces counts as too large. Legitimate clients never send this many. */
const PIECES_MAX = 4_096;

export class ReceivedBody implements AskedBody {
  /** `null` before decoding; `undefined` if not UTF-8. */
  private decoded: string | null | undefined = null;
  private asked: Cost | null = null;
  private isParsed = false;
  private parsed: unknown;

  constructor(
    /** The bytes, valid until {@link receiveBody}'s callback returns; see {@link kept}. */
    readonly bytes: Uint8Array,
    readonly tooLarge = false,
    readonly unread = false,
    readonly units = unitsOfText(bytes),
  ) {}

  kept(): ReceivedBody {
    return new ReceivedBody(this.bytes.slice(), this.tooLarge, this.unread, this.units);
  }

  get text(): string | undefined {
    const { bytes } = this;
    if (this.decoded === null) {
      const { buffer, byteOffset, length } = bytes;
      this.decoded = isUtf8(bytes)
        ? Buffer.from(buffer, byteOffset, length).toString('utf8')
        : undefined;
    }
    return this.decoded;
  }

  /** The parsed text, or `{}` if empty; `undefined` if invalid. First read after the charge. */
  get json(): unknown {
    if (!this.isParsed) {
      this.isParsed = true;
      this.parsed = parseJson(this);
    }
    return this.parsed;
  }

  get cost(): Cost {
    this.asked ??= costOfUnread(this.bytes, this.units);
    return this.asked;
  }

  get colons(): number {
    return colonCount(this.bytes);
  }
}

function parseJson({ text, tooLarge }: ReceivedBody): unknown {
  if (text === undefined || tooLarge) return undefined;
  if (text === '') return {};
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Calls `done` at the last piece, or where the body is cut off; never if the client leaves. */
export function receiveBody(response: HttpResponse, done: (body: ReceivedBody) => void): void {
  // Doubles when full, so many tiny pieces cost no more than one large piece.
  let kept = EMPTY;
  let length = 0;
  let pieces = 0;
  let finished = false;
  response.onData((data, isLast) => {
    if (finished) return;
    const start = length;
    length += data.byteLength;
    pieces++;
    const tooLarge = length > BODY_BYTES_MAX || pieces > PIECES_MAX;
    const isWhole = isLast && start === 0;
    if (!tooLarge && !isWhole) {
      // uWebSockets.js reuses the memory of `data` after this callback.
      if (length > kept.length) kept = grown(kept, start, length);
      kept.set(new Uint8Array(data), start);
    }
    if (!isLast && length <= DROPPED_BYTES_MAX && pieces <= PIECES_MAX) return;
    finished = true;
    const units = unitsOfBody(Math.min(length, BODY_BYTES_MAX), pieces);
    const bytes = isWhole ? new Uint8Array(data) : kept.subarray(0, length);
    done(
      tooLarge
        ? new ReceivedBody(EMPTY, true, !isLast, units)
        : new ReceivedBody(bytes, false, false, Math.max(units, unitsOfText(bytes))),
    );
  });
}

const EMPTY: Buffer = Buffer.alloc(0);

function grown(kept: Buffer, used: number, needed: number): Buffer {
  const larger = Buffer.allocUnsafe(Math.min(BODY_BYTES_MAX, Math.max(1_024, 2 * needed)));
  kept.copy(larger, 0, 0, used);
  return larger;
}

/** One unit takes at most 20 µs; a batch of 100 orders has about 50 units. */
const UNITS_IN_TURN = 100;

/** Serves large bodies one per turn, other requests in between. A connection has at most one. */
export class LargeBodyQueue {
  private readonly waiting: (() => void)[] = [];

  static mustWait(units: number): boolean {
    return units > UNITS_IN_TURN;
  }

  add(work: () => void): void {
    if (this.waiting.push(work) === 1) setImmediate(this.next);
  }

  private readonly next = (): void => {
    const work = this.waiting.shift()!;
    if (this.waiting.length > 0) setImmediate(this.next);
    work();
  };
}
