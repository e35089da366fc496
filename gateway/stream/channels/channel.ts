/**
 * A channel: a numbered run of messages. The parts that all channels share: the numbers, the messages that are kept for those
 * who were away for a moment, and who gets them.
 *
 * Always holds:
 * - at most one message per command, and each has the number after that of the one before: `channelSequence` has no gaps;
 * - the numbers begin with the engine's sequence of the moment at which the channel was made, so with one message per
 *   command at most, a channel's number is never higher than the engine's sequence. A number from before a restart, or from
 *   an earlier channel of the same name, is therefore at most the sequence at which this one began: it is never taken
 *   for one of this channel. (Equal to it, it can only be if nothing at all has happened since, and then it is right.)
 * - what is kept is without gaps and ends with the last message;
 * - a channel that nobody has been subscribed to for a while is forgotten (see {@link Channel.isIdle}), so there are no more
 *   channels than what connections were subscribed to a moment ago.
 */
import { channelText, type Stamp } from './message-text.js';

/** What the kept messages of all channels take together. */
export interface KeptTotal {
  characters: number;
}

export interface KeptLimits {
  keptMessages: number;
  keptCharacters: number;
  keptCharactersInAll: number;
}

/** Someone who gets a channel's messages. */
export interface Subscriber {
  /** The channel has ended: passes its last message on, and nothing after it. */
  channelClosed(text: string): void;
}

export abstract class Channel {
  /** Those who get the messages, and those who will as soon as their snapshot may leave. */
  readonly subscribers = new Set<Subscriber>();
  /** Whether the command that is being looked at changed something here. */
  isTouched = false;
  private idleSinceMs = 0;
  private kept: string[] = [];
  /** Where the kept messages begin; what stands before is forgotten and taken out now and then. */
  private keptFrom = 0;
  private keptCharacters = 0;

  /**
   * `name`: as clients call it. `topic`: as the connections of all users call it. `lastSequence`: number of the last message;
   * begins as the engine's sequence.
   */
  constructor(
    readonly name: string,
    readonly topic: string,
    public lastSequence: number,
  ) {}

  /** The whole state as of the last command, as JSON. */
  abstract snapshotData(): string;

  /** What the last command changed, as JSON; forgets it. Called once per command that touched the channel. */
  protected abstract takeChanges(): string;

  /** Whether the message of the last command is the whole state rather than the changes. */
  protected get sendsSnapshot(): boolean {
    return false;
  }

  snapshot(stamp: Stamp): string {
    return channelText('snapshot', this, stamp, this.snapshotData());
  }

  add(subscriber: Subscriber): void {
    this.subscribers.add(subscriber);
  }

  remove(subscriber: Subscriber, nowMs: number): void {
    this.subscribers.delete(subscriber);
    if (this.subscribers.size === 0) this.idleSinceMs = nowMs;
  }

  /** Whether nobody has been subscribed for `keptMs`. */
  isIdle(nowMs: number, keptMs: number): boolean {
    return this.subscribers.size === 0 && nowMs - this.idleSinceMs >= keptMs;
  }

  /** Forgets the messages that were kept: they have no use any more. */
  drop(total: KeptTotal): void {
    this.forget(this.kept.length, total);
  }

  /** The command that touched the channel is over: its message gets its number. */
  complete(stamp: Stamp, limits: KeptLimits, total: KeptTotal): string {
    this.isTouched = false;
    this.lastSequence++;
    if (!this.sendsSnapshot) {
      const text = channelText('delta', this, stamp, this.takeChanges());
      this.keep(text, limits, total);
      return text;
    }
    // It replaces all that came before.
    this.drop(total);
    const text = this.snapshot(stamp);
    this.keep(text, limits, total);
    return text;
  }

  /** The messages after the one with the number `after`; null if not all of them are kept, or there is no such number. */
  since(after: number): string[] | null {
    const missed = this.lastSequence - after;
    const count = this.kept.length - this.keptFrom;
    return missed >= 0 && missed <= count ? this.kept.slice(this.kept.length - missed) : null;
  }

  private keep(text: string, limits: KeptLimits, total: KeptTotal): void {
    this.kept.push(text);
    this.keptCharacters += text.length;
    total.characters += text.length;
    const messages = this.kept.length - this.keptFrom;
    if (messages > limits.keptMessages) this.forget(this.keptFrom + 1, total);
    // Two for one, so that what all channels keep together shrinks again.
    if (total.characters > limits.keptCharactersInAll) this.forget(this.keptFrom + 2, total);
    while (this.keptCharacters > limits.keptCharacters) this.forget(this.keptFrom + 1, total);
  }

  /** Forgets the messages before `end`. */
  private forget(end: number, total: KeptTotal): void {
    const last = Math.min(end, this.kept.length);
    for (let i = this.keptFrom; i < last; i++) {
      this.keptCharacters -= this.kept[i]!.length;
      total.characters -= this.kept[i]!.length;
      this.kept[i] = '';
    }
    this.keptFrom = last;
    if (this.keptFrom * 2 >= this.kept.length) {
      this.kept = this.kept.slice(this.keptFrom);
      this.keptFrom = 0;
    }
  }
}
