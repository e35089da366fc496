/**
 * Answers that their clients have not taken whole: what is kept for clients that read slowly, or do not read at all.
 *
 * uWebSockets.js has two ways to end an answer. `end` copies whatever the operating system does not take, for each connection anew
 * and without a limit. `tryEnd` hands over what the operating system takes and leaves the rest to us. So every answer with a body
 * leaves by `tryEnd`, and one without a body ends its connection (last-answer.ts).
 *
 * Always holds:
 * - one answer waits on a connection at most, because uWebSockets.js closes a connection on which the next request comes before
 *   that; uWebSockets.js itself keeps at most 16 KiB of an answer and its head for a connection;
 * - the answers that wait are within the limits, in all and for each address, but for a single answer that is larger than they are.
 *   What is too much costs the address that has the most waiting its oldest answers: their connections are closed;
 * - in one turn of the event loop no more is handed over of large answers than {@link TURN_BYTES}, piece by piece and in turn, so that
 *   nobody else's answer waits for longer than that takes, however many ask for how much;
 * - an answer of which nothing is taken for some 10 s is dropped by uWebSockets.js with its connection, and one that is not taken
 *   whole within {@link UnsentLimits.ms} is dropped here.
 */
import type { HttpResponse } from 'uWebSockets.js';
import type { AddressKey } from '../fair-use/addresses.js';
import type { ElapsedMs } from '../fair-use/token-buckets.js';

export interface UnsentLimits {
  /** Of all answers that wait. */
  bytes: number;
  /** Of those to one address; 0: no limit. */
  bytesPerAddress: number;
  /** Real milliseconds within which an answer must be taken whole. */
  ms: number;
}

/** Who is answered. */
export interface Recipient {
  /** Only asked for while the answer is not over. */
  readonly address: AddressKey;
}

/** Why an answer was dropped: too much for all, too much for one address, or too slow. */
export type DropReason = 'total' | 'address' | 'time';

/** What an answer that waits counts besides its own bytes: what uWebSockets.js may keep of it, which is most of it, and objects. */
export const WAITING_BYTES = 20 * 1024;
/** Fits the buffer of uWebSockets.js, so that head and body leave together. */
const SMALL_LENGTH = 14 * 1024;
/** What is handed over of one answer at once: uWebSockets.js may reserve as much for a connection that takes nothing. */
const PIECE_BYTES = 64 * 1024;
/** Copying that to the operating system takes some 0.1 ms. */
const TURN_BYTES = 4 * PIECE_BYTES;
/** Of a client that reads, something is heard in this time. */
const SETTLE_MS = 300;

interface Waiting {
  readonly response: HttpResponse;
  readonly body: Uint8Array;
  readonly address: AddressKey;
  readonly bytes: number;
  readonly sinceMs: number;
}

/** What waits for one address, the oldest first. */
interface Account {
  bytes: number;
  readonly waiting: Set<Waiting>;
}

export class UnsentAnswers {
  /** The oldest first. */
  private readonly waiting = new Set<Waiting>();
  private readonly accounts = new Map<AddressKey, Account>();
  private bytesInAll = 0;
  /** Of those that wait: they have not been told that the operating system takes no more. */
  private readonly ready = new Set<Waiting>();
  /** What is left of {@link TURN_BYTES}. */
  private turnBytes = TURN_BYTES;
  private isTurnPlanned = false;
  /** How often somebody who waits was handed more. */
  private goneOn = 0;
  private readonly drops: Record<DropReason, number> = { total: 0, address: 0, time: 0 };

  constructor(
    private readonly limits: UnsentLimits,
    private readonly elapsedMs: ElapsedMs,
  ) {}

  /** Of all answers that wait. */
  get bytes(): number {
    return this.bytesInAll;
  }

  get count(): number {
    return this.waiting.size;
  }

  /** Answers that were dropped, since the start. */
  get dropCounts(): Readonly<Record<DropReason, number>> {
    return this.drops;
  }

  /** Ends an answer with its body, which is not empty. To be called corked, after the head; `body` may be used again at once. */
  send(response: HttpResponse, body: string | Uint8Array, recipient: Recipient): void {
    if (body.length <= SMALL_LENGTH && response.tryEnd(body, 0)[1]) return;
    const own = typeof body === 'string' ? Buffer.from(body) : new Uint8Array(body);
    this.begin(response, own, own.byteLength, recipient);
  }

  /** The same with a body that stays in memory anyway, and of which nothing is copied. */
  sendShared(response: HttpResponse, body: Uint8Array, recipient: Recipient): void {
    this.begin(response, body, 0, recipient);
  }

  /** Drops what has waited for too long. To be called every now and then. */
  sweep(): void {
    const nowMs = this.elapsedMs();
    for (const oldest of this.waiting) {
      if (nowMs - oldest.sinceMs < this.limits.ms) return;
      this.drop(oldest, 'time');
    }
  }

  /** Resolves when no answer waits any more, or when none of those that do has been taken any further for {@link SETTLE_MS}. */
  async settled(): Promise<void> {
    for (let before = -1; this.waiting.size > 0 && this.goneOn !== before; ) {
      before = this.goneOn;
      await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
    }
  }

  /** `ownBytes`: what the body takes in memory because it waits. */
  private begin(response: HttpResponse, body: Uint8Array, ownBytes: number, recipient: Recipient): void {
    const state = this.turnBytes > 0 ? this.handOver(response, body) : headOnly(response, body);
    if (state === 'over') return;
    const bytes = ownBytes + WAITING_BYTES;
    const waiting = { response, body, address: recipient.address, bytes, sinceMs: this.elapsedMs() };
    response.onAborted(() => this.forget(waiting));
    response.onWritable(() => {
      this.getReady(waiting);
      return true;
    });
    this.remember(waiting);
    if (state === 'taken') this.getReady(waiting);
    this.makeRoom(waiting);
  }

  /** Hands over a piece of what is left. To be called corked. */
  private handOver(response: HttpResponse, body: Uint8Array): State {
    const offset = response.getWriteOffset();
    const piece = body.subarray(offset, offset + PIECE_BYTES);
    const [isTaken, isOver] = response.tryEnd(piece, body.byteLength);
    this.turnBytes -= piece.byteLength;
    this.planTurn();
    if (isOver) return 'over';
    return isTaken ? 'taken' : 'full';
  }

  private getReady(waiting: Waiting): void {
    this.ready.add(waiting);
    this.planTurn();
  }

  private planTurn(): void {
    if (this.isTurnPlanned) return;
    this.isTurnPlanned = true;
    setImmediate(() => this.turn());
  }

  /** A piece of each answer that is ready, in turn, until the turn's bytes are used up. */
  private turn(): void {
    this.isTurnPlanned = false;
    this.turnBytes = TURN_BYTES;
    for (const waiting of this.ready) {
      if (this.turnBytes <= 0) break;
      this.ready.delete(waiting);
      waiting.response.cork(() => this.goOn(waiting));
    }
    if (this.ready.size > 0) this.planTurn();
  }

  private goOn(waiting: Waiting): void {
    this.goneOn++;
    const state = this.handOver(waiting.response, waiting.body);
    if (state === 'over') this.forget(waiting);
    else if (state === 'taken') this.ready.add(waiting);
  }

  private remember(waiting: Waiting): void {
    const { address, bytes } = waiting;
    let account = this.accounts.get(address);
    if (account === undefined) {
      account = { bytes: 0, waiting: new Set() };
      this.accounts.set(address, account);
    }
    account.waiting.add(waiting);
    account.bytes += bytes;
    this.waiting.add(waiting);
    this.bytesInAll += bytes;
  }

  private forget(waiting: Waiting): void {
    if (!this.waiting.delete(waiting)) return;
    this.ready.delete(waiting);
    const { address, bytes } = waiting;
    this.bytesInAll -= bytes;
    const account = this.accounts.get(address)!;
    account.waiting.delete(waiting);
    account.bytes -= bytes;
    if (account.waiting.size === 0) this.accounts.delete(address);
  }

  /** Never at the cost of the newest: its connection is being written to. */
  private makeRoom(newest: Waiting): void {
    const { bytes, bytesPerAddress } = this.limits;
    const account = this.accounts.get(newest.address)!;
    while (bytesPerAddress > 0 && account.bytes > bytesPerAddress) {
      const oldest = first(account.waiting)!;
      if (oldest === newest) break;
      this.drop(oldest, 'address');
    }
    while (this.bytesInAll > bytes) {
      const ofHeaviest = first(this.heaviest().waiting)!;
      const oldest = ofHeaviest === newest ? first(this.waiting)! : ofHeaviest;
      if (oldest === newest) break;
      this.drop(oldest, 'total');
    }
  }

  /** There is one. */
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

/** What has become of an answer: it is over, and may not be touched; a piece was taken; or the operating system takes no more. */
type State = 'over' | 'taken' | 'full';

/** Writes the head, and what the length of the body is. */
function headOnly(response: HttpResponse, body: Uint8Array): State {
  response.tryEnd('', body.byteLength);
  return 'taken';
}

function first<T>(items: Iterable<T>): T | undefined {
  for (const item of items) return item;
  return undefined;
}
