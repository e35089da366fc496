/**
 * A user who moves money between shards, over a network that loses and doubles messages. Each
 * transfer is asked for until it is answered.
 */
import type { World } from '../world.js';
import { send } from './network.js';
import type { Shard } from './shard.js';
import { debitOf, isOk, type Transfer, transferId } from './transfer.js';

const PAUSE_MS = 12_000;
const TIMEOUT_MS = 2_000;
const MOST_MICROS = 400_000_000;

export interface Asked {
  transfer: Transfer;
  /** null: not answered. */
  wasMade: boolean | null;
}

export class Mover {
  readonly asked: Asked[] = [];
  private isStopped = false;

  constructor(
    private readonly world: World,
    private readonly userId: number,
    private readonly shards: readonly Shard[],
  ) {}

  start(): void {
    this.world.after(this.world.random.whole(1, PAUSE_MS), () => this.next());
  }

  /** Asks again for what is unanswered, and for nothing new. */
  stop(): void {
    this.isStopped = true;
  }

  get isDone(): boolean {
    return this.asked.every(({ wasMade }) => wasMade !== null);
  }

  private next(): void {
    if (this.isStopped) return;
    const { random } = this.world;
    const { userId, shards } = this;
    const from = random.whole(0, shards.length - 1);
    const to = (from + random.whole(1, shards.length - 1)) % shards.length;
    const id = transferId(from, to, `${userId}.${this.asked.length}`);
    const amountMicros = random.whole(1, MOST_MICROS);
    const asked = { transfer: { id, from, to, userId, amountMicros }, wasMade: null };
    this.asked.push(asked);
    this.ask(asked);
  }

  private ask(asked: Asked): void {
    const { world, shards } = this;
    const { transfer } = asked;
    send(world, () =>
      shards[transfer.from]!.receive(debitOf(transfer), ({ values }) =>
        send(world, () => this.answered(asked, isOk(values))),
      ),
    );
    world.after(TIMEOUT_MS, () => {
      if (asked.wasMade === null) this.ask(asked);
    });
  }

  private answered(asked: Asked, wasMade: boolean): void {
    if (asked.wasMade !== null) return;
    asked.wasMade = wasMade;
    this.world.after(this.world.random.whole(1, PAUSE_MS), () => this.next());
  }
}
