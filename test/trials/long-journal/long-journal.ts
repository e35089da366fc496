/**
 * A journal of some gigabytes. There are 1,000 orders and cancels a second in one asset, each with
 * an idempotency key and the orders with a clientOrderId, for as many hours as it takes. They come
 * in batches of 512, through the exchange's own engine and journal, whose commits are not synced. A
 * snapshot that the journal vouches for is a million commands before the end.
 */

import { folderBytes } from '../../../bench/measure/machine.js';
import {
  observedPrice,
  registration,
  WINDOW_START_MS,
} from '../../../bench/workload/open-market.js';
import { Random } from '../../../bench/workload/random.js';
import { Engine } from '../../../engine/engine.js';
import type { Command } from '../../../engine/interface/commands.js';
import { type Outcome, TimeInForce } from '../../../engine/interface/domain.js';
import { MAX_TIME_MS, MICROS_PER_DOLLAR } from '../../../engine/interface/limits.js';
import { RecordBuffer } from '../../../engine/interface/records.js';
import { OrderResult, ResultHead } from '../../../engine/interface/results.js';
import { hashFileInThread } from '../../../persistence/follower/hash-thread.js';
import { bytesOf } from '../../../persistence/journal/format.js';
import type { Journal } from '../../../persistence/journal/journal.js';
import { listSegments } from '../../../persistence/journal/segments.js';
import { openJournal } from '../../../persistence/recovery/data-folder.js';
import { takeSnapshot, writeSnapshot } from '../../../persistence/recovery/snapshot/file.js';
import {
  prepareSnapshotFolder,
  snapshotNameOf,
} from '../../../persistence/recovery/snapshot/folder.js';

const USERS = 10_000;
const FUNDS_MICROS = 500_000 * MICROS_PER_DOLLAR;
const BATCH = 512;
const ORDERS_A_SECOND = 1_000;
/** Orders that rest at one time, about. */
const RESTING = 1_500;
const TAIL_COMMANDS = 1_000_000;
/** The folder's size is looked at after so many commands. */
const LOOK_EVERY = 1_000_000;
const GIGABYTE = 1e9;

class LongJournal {
  private readonly engine = new Engine();
  private readonly random = new Random('long journal');
  private readonly resting: { userId: number; marketId: number; orderId: number }[] = [];
  private readonly records = new RecordBuffer();
  private committed: Promise<void> = Promise.resolve();
  private trades = 0;
  private nowMs = WINDOW_START_MS;

  constructor(
    private readonly folder: string,
    private readonly journal: Journal,
  ) {}

  async write(bytes: number): Promise<Engine> {
    this.give({ kind: 'listAsset', symbol: 'BTC' });
    this.give(observedPrice(this.nowMs));
    for (let user = 1; user <= USERS; user++) this.give(registration(user, FUNDS_MICROS));
    await this.commit();
    let look = LOOK_EVERY;
    for (; ; look += LOOK_EVERY) {
      await this.tradeTo(look);
      const written = folderBytes(this.folder);
      if (written * (1 + TAIL_COMMANDS / look) >= bytes) break;
    }
    await this.snapshot();
    await this.tradeTo(look + TAIL_COMMANDS);
    await this.committed;
    return this.engine;
  }

  private async tradeTo(sequence: number): Promise<void> {
    while (this.engine.sequence < sequence) {
      for (let i = 0; i < BATCH; i++) this.next();
      await this.commit();
    }
  }

  /** The next command of the day. */
  private next(): void {
    this.trades++;
    if (this.trades % ORDERS_A_SECOND === 0) {
      this.nowMs += 1_000;
      this.give(observedPrice(this.nowMs));
      return;
    }
    const marketId = this.engine.activeMarket(0);
    if (this.resting.length > 0 && this.resting[0]!.marketId !== marketId) this.resting.length = 0;
    const userId = 1 + this.below(USERS);
    const draw = this.below(100);
    if (draw < 15) this.take(userId, marketId);
    else if (this.resting.length > RESTING * (draw < 55 ? 1 : 0.9)) this.cancel();
    else this.rest(userId, marketId);
  }

  private rest(userId: number, marketId: number): void {
    this.give({
      ...this.order(userId, marketId),
      priceTicks: 400 + this.below(100),
      timeInForce: TimeInForce.GTC,
      budgetMicros: MICROS_PER_DOLLAR * 100,
    });
    const { result } = this.engine;
    if (result.values[ResultHead.code] !== 0) return;
    const orderId = result.values[OrderResult.orderId]!;
    this.resting.push({ userId, marketId, orderId });
  }

  private take(userId: number, marketId: number): void {
    this.give(this.order(userId, marketId));
  }

  private order(userId: number, marketId: number) {
    return {
      kind: 'buy',
      userId,
      idempotencyKey: this.key(),
      clientOrderId: this.key(),
      marketId,
      outcome: this.below(2) as Outcome,
      sizeLots: 1_000 * (1 + this.below(20)),
      priceTicks: 999,
      timeInForce: TimeInForce.IOC as TimeInForce,
      postOnly: false,
      validUntilMs: MAX_TIME_MS,
      budgetMicros: MICROS_PER_DOLLAR * 5,
    } as const;
  }

  private cancel(): void {
    const at = this.below(this.resting.length);
    const order = this.resting[at]!;
    this.resting[at] = this.resting.at(-1)!;
    this.resting.pop();
    this.give({ kind: 'cancel', idempotencyKey: this.key(), ...order });
  }

  private below(limit: number): number {
    return this.random.whole(0, limit - 1);
  }

  /** As long as a UUID. */
  private key(): string {
    return `0195e7d2-7c31-4b8e-9f00-${100_000_000_000 + this.trades}`;
  }

  private give(command: Command): void {
    this.engine.applyRecord(this.records, this.records.append(command, this.nowMs));
  }

  /** Waits for the batch before, and hands this one to the journal. */
  private async commit(): Promise<void> {
    await this.committed;
    const { records, engine } = this;
    const lastSequence = engine.sequence;
    const firstSequence = lastSequence - records.count + 1;
    const batch = { firstSequence, lastSequence, digest: engine.digest() };
    this.committed = new Promise((resolve, reject) => {
      this.journal.append({ ...batch, records: bytesOf(records) }, (error) =>
        error === null ? resolve() : reject(error),
      );
    });
    records.clear();
  }

  private async snapshot(): Promise<void> {
    await this.committed;
    const { engine, journal } = this;
    const snapshotSequence = engine.sequence;
    const content = takeSnapshot(engine, journal.end);
    await prepareSnapshotFolder(this.folder);
    const { path } = snapshotNameOf(this.folder, snapshotSequence);
    const snapshotHash = writeSnapshot(path, content);
    this.give({ kind: 'vouchForSnapshot', snapshotSequence, snapshotHash });
    await this.commit();
  }
}

/** @returns a line about it. */
export async function writeLongJournal(folder: string, bytes: number): Promise<string> {
  const journal = await openJournal({ folder, durability: 'off', hashFile: hashFileInThread });
  const engine = await new LongJournal(folder, journal).write(bytes);
  await journal.sealed();
  await journal.close();
  const size = (folderBytes(folder) / GIGABYTE).toFixed(2);
  const segments = listSegments(folder).length;
  return `${size} GB, ${engine.sequence} commands in ${segments} segments`;
}
