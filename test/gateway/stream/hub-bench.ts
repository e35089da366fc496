import { expect } from 'vitest';
import { z } from 'zod';
import { Engine } from '../../../engine/engine.js';
import type { Command } from '../../../engine/interface/commands.js';
import { TimeInForce } from '../../../engine/interface/domain.js';
import { WatchedSequencer } from '../../../gateway/observe/watched-sequencer.js';
import type { Channel, Subscriber } from '../../../gateway/stream/channels/channel.js';
import { channelNamed } from '../../../gateway/stream/channels/names.js';
import { type ChannelId, Hub } from '../../../gateway/stream/hub.js';
import { STREAM_LIMITS, type StreamLimits } from '../../../gateway/stream/limits.js';
import { SERVER_MESSAGES } from '../../../gateway/stream/server-messages.js';
import type { JournalError } from '../../../persistence/journal/errors.js';
import type { BatchContent } from '../../../persistence/journal/format.js';
import type { CommitDone } from '../../../persistence/journal/store.js';
import type { SequencerLog } from '../../../persistence/sequencer.js';
import {
  ANY_SIZE_RESTS,
  buy,
  price,
  registration,
  WINDOW_START_MS,
} from '../../support/engine-support.js';
import type { Message } from './support.js';

const ServerMessage = z.union(Object.values(SERVER_MESSAGES));
export const MARKET = 'btc-15m-1763700300';
export const WINDOW_MS = 900_000;
export const DAY_MS = 86_400_000;

/** An in-memory journal in which a batch becomes durable when the test says so. */
class HeldLog implements SequencerLog {
  readonly end = { sequence: 0, digest: null };
  private readonly held: { batch: BatchContent; done: CommitDone }[] = [];

  append(batch: BatchContent, done: CommitDone): void {
    this.held.push({ batch, done });
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  get isHolding(): boolean {
    return this.held.length > 0;
  }

  /** Reports that the oldest batch is durable or has failed. Returns its last sequence. */
  answer(error: JournalError | null = null): number {
    const { batch, done } = this.held.shift()!;
    done(error);
    return batch.lastSequence;
  }
}

/** An engine with a market and three users, a sequencer and a hub, with all commits held back. */
export class Bench {
  readonly engine = new Engine();
  readonly log = new HeldLog();
  readonly failures: Error[] = [];
  readonly published: Message[] = [];
  readonly tokensEnded: [number, number][] = [];
  readonly sequencer: WatchedSequencer;
  readonly hub: Hub;
  nowMs = WINDOW_START_MS;

  constructor(limits: Partial<StreamLimits> = {}) {
    const { engine, log } = this;
    this.sequencer = new WatchedSequencer({
      engine,
      journal: log,
      now: () => this.nowMs,
      onFatal: (error) => this.failures.push(error),
    });
    this.hub = new Hub({
      engine,
      releaseAt: (sequence, target) => this.sequencer.releaseAt(sequence, target),
      publish: (topic, text) =>
        this.published.push({ topic, ...(ServerMessage.parse(JSON.parse(text)) as Message) }),
      onTokenEnded: () => {},
      onRateTier: () => {},
      onTokensEnded: (userId, version) => this.tokensEnded.push([userId, version]),
      limits: { ...STREAM_LIMITS, ...limits },
    });
    this.sequencer.watch(() => this.hub.observe());
    this.do(ANY_SIZE_RESTS);
    this.do({ kind: 'listAsset', symbol: 'BTC' }, price(100_000, this.nowMs));
    for (const name of ['ada', 'bob', 'cyn']) this.do(registration(name, 10_000));
  }

  get marketId(): number {
    return this.engine.activeMarket(0);
  }

  do(...commands: Command[]): void {
    for (const command of commands) this.sequencer.submit(command);
  }

  /** Makes everything durable. */
  async flush(): Promise<void> {
    while (this.sequencer.backlog > 0) {
      await new Promise((resolve) => setImmediate(resolve));
      if (this.log.isHolding) this.log.answer();
    }
  }

  /** Subscribes to a channel. Returns it, and its last message once its market is closed. */
  follow(name: string, userId = 0): { channel: Channel; closed: string[]; subscriber: Subscriber } {
    const channel = this.hub.channel(channelNamed(this.engine, userId, name) as ChannelId);
    const closed: string[] = [];
    const subscriber = { channelClosed: (text: string) => void closed.push(text) };
    channel.add(subscriber);
    return { channel, closed, subscriber };
  }

  messagesOf(channel: Channel): Message[] {
    return this.published.filter((message) => message.topic === channel.topic);
  }

  /** A resting order of `userId` to buy UP at this price. */
  rest(userId: number, priceTicks: number, sizeLots = 1_000): Command {
    const { marketId } = this;
    return buy({ userId, marketId, priceTicks, sizeLots, timeInForce: TimeInForce.GTC });
  }
}

/** Resolves when a hub with later commands has published. */
export async function anotherPublishes(): Promise<void> {
  const later = new Bench();
  later.follow(`book:${MARKET}`);
  later.do(later.rest(1, 400));
  await later.flush();
  expect(later.published).toHaveLength(1);
}
