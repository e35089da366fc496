/**
 * Sends answers, and limits the memory of those that clients have not fully read. `tryEnd` leaves
 * to the caller what the operating system does not accept; `end` would copy the rest, per
 * connection and without a limit.
 *
 * Invariants:
 * - One answer at most is pending per connection, because uWebSockets.js closes a connection whose
 *   next request arrives earlier. uWebSockets.js itself buffers at most 16 KiB of an answer.
 * - Unread answers stay within a total limit and a limit per address, apart from a single larger
 *   answer. Above a limit, the oldest answers of the address with the most bytes are dropped, with
 *   their connections.
 * - Answers that only wait for their turn are not unread, so clients that read are not dropped.
 *   Such answers have the same total limit; above it, answers are written immediately.
 * - Large answers are written in pieces, for {@link TURN_MS} per turn of the event loop.
 * - An answer not fully read within {@link UnsentLimits.ms} is dropped, with its connection.
 *   uWebSockets.js drops an answer whose client reads nothing for about 10 s.
 */
import type { HttpResponse } from 'uWebSockets.js';
import type { AddressKey } from '../../access/fair-use/addresses.js';
import type { ElapsedMs } from '../../access/fair-use/token-buckets.js';
import { textBuffers } from '../../json/text-buffers.js';

export interface UnsentLimits {
  /** Total for unread answers, and again for answers that wait for their turn. */
  bytes: number;
  bytesPerAddress: number;
  /** Real milliseconds within which a client must read the whole answer. */
  ms: number;
}

export interface Recipient {
  /** The address, valid only while the response is open. */
  readonly address: AddressKey;
}

type DropReason = 'total' | 'address' | 'time';

/** Added to each unread answer's bytes, for the uWebSockets.js buffer and objects. */
export const WAITING_BYTES = 20 * 1024;
/** Bodies of this length fit uWebSockets.js's buffer, so head and body are sent together. */
const SMALL_LENGTH = 14 * 1024;
/** Piece size: uWebSockets.js may allocate this much for a client that reads nothing. */
const PIECE_BYTES = 64 * 1024;
/**
 * Enough for the answers to one commit's batches. A time, because a megabyte takes 0.4 ms, but up
 * to 10 ms when the operating system must find memory for clients that do not read.
 */
const TURN_MS = 1;
/** A client that reads takes more of an answer within this time. */
const SETTLE_MS = 300;

interface Waiting {
  readonly response: HttpResponse;
  body: Uint8Array;
  /** Whether the body's memory belongs to this answer alone. */
  readonly isOwn: boolean;
  readonly address: AddressKey;
  /** Bytes counted once the operating system accepts no more; 0 until then. */
  bytes: number;
  readonly sinceMs: number;
}

interface Account {
  bytes: number;
  readonly unread: Set<Waiting>;
}

export class UnsentAnswers {
  private readonly waiting = new Set<Waiting>();
  /** Answers that the operating system has stopped accepting at least once, oldest first. */
  private readonly unread = new Set<Waiting>();
  private readonly accounts = new Map<AddressKey, Account>();
  private bytesInAll = 0;
  private bytesInTurn = 0;
  /** Pending answers that the operating system may accept more of. */
  private readonly ready = new Set<Waiting>();
  private turnMs = TURN_MS;
  private isTurnPlanned = false;
  private continuations = 0;
  private readonly drops: Record<DropReason, number> = { total: 0, address: 0, time: 0 };

  constructor(
    private readonly limits: UnsentLimits,
    private readonly elapsedMs: ElapsedMs,
  ) {}

  get bytes(): number {
    return this.bytesInAll;
  }

  get count(): number {
    return this.unread.size;
  }

  get dropCounts(): Readonly<Record<DropReason, number>> {
    return this.drops;
  }

  /** Ends an answer with a body, which must not change later. Call corked, after the head. */
  send(response: HttpResponse, body: string | Uint8Array, recipient: Recipient): void {
    const isSmall = body.length <= SMALL_LENGTH;
    if (isSmall && response.tryEnd(body, 0)[1]) return;
    // A small view would keep its large buffer in memory.
    const own =
      typeof body === 'string' ? Buffer.from(body) : isSmall ? new Uint8Array(body) : body;
    this.begin(response, own, true, recipient);
  }

  /** Like {@link send}, for a permanent body, which is not copied. */
  sendShared(response: HttpResponse, body: Uint8Array, recipient: Recipient): void {
    this.begin(response, body, false, recipient);
  }

  refuse(response: HttpResponse): void {
    this.drops.total++;
    response.close();
  }

  /** Drops answers past the time limit. Call regularly. */
  sweep(): void {
    const nowMs = this.elapsedMs();
    for (const oldest of this.waiting) {
      if (nowMs - oldest.sinceMs < this.limits.ms) return;
      this.drop(oldest, 'time');
    }
  }

  /** Resolves when no answer is pending, or no client took more of one within {@link SETTLE_MS}. */
  async settled(): Promise<void> {
    for (let before = -1; this.waiting.size > 0 && this.continuations !== before; ) {
      before = this.continuations;
      await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
    }
  }

  private begin(
    response: HttpResponse,
    body: Uint8Array,
    isOwn: boolean,
    recipient: Recipient,
  ): void {
    let state = this.turnMs > 0 ? this.writePiece(response, body) : headOnly(response, body);
    const { byteLength } = body;
    while (state === 'taken' && isOwn && this.bytesInTurn + byteLength > this.limits.bytes)
      state = this.writePiece(response, body);
    if (state === 'over') {
      textBuffers.give(body);
      return;
    }
    const { address } = recipient;
    const waiting = { response, body, isOwn, address, bytes: 0, sinceMs: this.elapsedMs() };
    response.onAborted(() => this.forget(waiting));
    response.onWritable(() => {
      this.addReady(waiting);
      return true;
    });
    this.waiting.add(waiting);
    if (isOwn) this.bytesInTurn += byteLength;
    if (state === 'taken') this.addReady(waiting);
    else this.addUnread(waiting);
  }

  /** Call corked. */
  private writePiece(response: HttpResponse, body: Uint8Array): State {
    const offset = response.getWriteOffset();
    const piece = body.subarray(offset, offset + PIECE_BYTES);
    const fromMs = this.elapsedMs();
    const [isTaken, isOver] = response.tryEnd(piece, body.byteLength);
    this.turnMs -= this.elapsedMs() - fromMs;
    this.planTurn();
    if (isOver) return 'over';
    return isTaken ? 'taken' : 'full';
  }

  private addReady(waiting: Waiting): void {
    this.ready.add(waiting);
    this.planTurn();
  }

  private planTurn(): void {
    if (this.isTurnPlanned) return;
    this.isTurnPlanned = true;
    setImmediate(() => this.turn());
  }

  private turn(): void {
    this.isTurnPlanned = false;
    this.turnMs = TURN_MS;
    for (const waiting of this.ready) {
      if (this.turnMs <= 0) break;
      this.ready.delete(waiting);
      waiting.response.cork(() => this.writeMore(waiting));
    }
    if (this.ready.size > 0) this.planTurn();
  }

  private writeMore(waiting: Waiting): void {
    this.continuations++;
    const state = this.writePiece(waiting.response, waiting.body);
    if (state === 'over') {
      this.forget(waiting);
      textBuffers.give(waiting.body);
    } else if (state === 'taken') this.ready.add(waiting);
    else this.addUnread(waiting);
  }

  private addUnread(waiting: Waiting): void {
    if (this.unread.has(waiting)) return;
    const { body, isOwn, address } = waiting;
    if (isOwn && body.buffer.byteLength > body.byteLength) {
      // Keep only as much memory as the body needs.
      waiting.body = new Uint8Array(body);
      textBuffers.give(body);
    }
    if (isOwn) this.bytesInTurn -= body.byteLength;
    waiting.bytes = WAITING_BYTES + (isOwn ? body.byteLength : 0);
    let account = this.accounts.get(address);
    if (account === undefined) {
      account = { bytes: 0, unread: new Set() };
      this.accounts.set(address, account);
    }
    account.unread.add(waiting);
    account.bytes += waiting.bytes;
    this.unread.add(waiting);
    this.bytesInAll += waiting.bytes;
    this.makeRoom(waiting);
  }

  private forget(waiting: Waiting): void {
    if (!this.waiting.delete(waiting)) return;
    this.ready.delete(waiting);
    const { address, body, bytes, isOwn } = waiting;
    if (!this.unread.delete(waiting)) {
      if (isOwn) this.bytesInTurn -= body.byteLength;
      return;
    }
    this.bytesInAll -= bytes;
    const account = this.accounts.get(address)!;
    account.unread.delete(waiting);
    account.bytes -= bytes;
    if (account.unread.size === 0) this.accounts.delete(address);
  }

  /** Never drops the newest answer, whose connection is being written to. */
  private makeRoom(newest: Waiting): void {
    const { bytes, bytesPerAddress } = this.limits;
    const account = this.accounts.get(newest.address)!;
    while (account.bytes > bytesPerAddress) {
      const oldest = first(account.unread)!;
      if (oldest === newest) break;
      this.drop(oldest, 'address');
    }
    while (this.bytesInAll > bytes) {
      const ofHeaviest = first(this.heaviest().unread)!;
      const oldest = ofHeaviest === newest ? first(this.unread)! : ofHeaviest;
      if (oldest === newest) break;
      this.drop(oldest, 'total');
    }
  }

  private heaviest(): Account {
    let heaviest: Account | null = null;
    for (const account of this.accounts.values()) {
      if (heaviest === null || account.bytes > heaviest.bytes) heaviest = account;
    }
    return heaviest!;
  }

  private drop(waiting: Waiting, reason: DropReason): void {
    this.drops[reason]++;
    this.forget(waiting);
    waiting.response.close();
  }
}

/** `over`: the response is invalid. `full`: the operating system accepts no more. */
type State = 'over' | 'taken' | 'full';

function headOnly(response: HttpResponse, body: Uint8Array): State {
  response.tryEnd('', body.byteLength);
  return 'taken';
}

function first<T>(items: Iterable<T>): T | undefined {
  for (const item of items) return item;
  return undefined;
}
