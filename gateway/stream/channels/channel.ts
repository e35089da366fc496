/**
 * A channel: numbered messages, the latest ones kept for `resume`, and the subscribers.
 *
 * Invariants:
 * - A command adds at most one message. Its number, `channelSequence`, is the command's journal
 *   sequence, the same in every process, so `resume` works after a restart and at another replica.
 * - Numbers have gaps. A delta's `previousSequence` is the previous message's number.
 * - Every message numbered above `keptAfter` is kept.
 * - A channel without subscribers is eventually removed (see {@link Channel.isIdle}).
 */
import type { Engine } from '../../../engine/engine.js';
import { count } from '../../json/response-fields.js';
import { channelText, type Stamp } from './message-text.js';

export const DATA = 'The state of the channel, or its changes';
export const atMs = count.describe(
  'The exchange’s time at that sequence, in milliseconds since the epoch',
);

/** Total size of all channels' kept messages. */
export interface KeptTotal {
  characters: number;
}

interface KeptLimits {
  keptMessages: number;
  keptCharacters: number;
  keptCharactersInAll: number;
}

export interface Subscriber {
  /** Called when the channel closes. `text` is its last message. */
  channelClosed(text: string): void;
}

export abstract class Channel {
  /** All subscribers, including those whose snapshot is not sent yet. */
  readonly subscribers = new Set<Subscriber>();
  isTouched = false;
  private idleSinceMs = 0;
  private kept: string[] = [];
  /** Message numbers, parallel to `kept`. */
  private keptNumbers: number[] = [];
  private keptAfter: number;
  /** Index of the first kept message. Earlier entries are dead until the arrays are trimmed. */
  private keptFrom = 0;
  private keptCharacters = 0;

  /** The last message's number; initially the engine's sequence. */
  lastSequence: number;

  /** `topic`: the uWebSockets.js topic, unique across users. */
  constructor(
    protected readonly engine: Engine,
    readonly name: string,
    readonly topic = name,
  ) {
    this.lastSequence = engine.sequence;
    this.keptAfter = engine.sequence;
  }

  /** Returns the whole state after the last command, as JSON. */
  abstract snapshotData(): string;

  /** Returns the last command's changes as JSON, and clears them. Called once per command. */
  protected abstract takeChanges(): string;

  /** Whether the last command changed what the channel shows. Call once per touching command. */
  takeWhetherChanged(): boolean {
    return true;
  }

  /** Whether the last command's message is a snapshot rather than a delta. */
  protected get sendsSnapshot(): boolean {
    return false;
  }

  snapshot(stamp: Stamp, id?: string): string {
    const numbered = { name: this.name, lastSequence: stamp.sequence };
    const fields = id === undefined ? '' : `"id":${JSON.stringify(id)},`;
    return channelText('snapshot', numbered, stamp, this.snapshotData(), fields);
  }

  add(subscriber: Subscriber): void {
    this.subscribers.add(subscriber);
  }

  remove(subscriber: Subscriber, nowMs: number): void {
    this.subscribers.delete(subscriber);
    if (this.subscribers.size === 0) this.idleSinceMs = nowMs;
  }

  isIdle(nowMs: number, keptMs: number): boolean {
    return this.subscribers.size === 0 && nowMs - this.idleSinceMs >= keptMs;
  }

  drop(total: KeptTotal): void {
    this.forget(this.kept.length, total);
  }

  complete(stamp: Stamp, limits: KeptLimits, total: KeptTotal): string {
    const previous = this.lastSequence;
    this.lastSequence = stamp.sequence;
    if (!this.sendsSnapshot) {
      const fields = `"previousSequence":${previous},`;
      const text = channelText('delta', this, stamp, this.takeChanges(), fields);
      this.keep(text, limits, total);
      return text;
    }
    // A snapshot replaces all earlier messages.
    this.drop(total);
    const text = this.snapshot(stamp);
    this.keep(text, limits, total);
    return text;
  }

  /** `null` if some are no longer kept, or if `after` is beyond the engine's `sequence`. */
  since(after: number, sequence: number): string[] | null {
    if (after < this.keptAfter || after > sequence) return null;
    let from = this.kept.length;
    while (from > this.keptFrom && this.keptNumbers[from - 1]! > after) from--;
    return this.kept.slice(from);
  }

  private keep(text: string, limits: KeptLimits, total: KeptTotal): void {
    this.kept.push(text);
    this.keptNumbers.push(this.lastSequence);
    this.keptCharacters += text.length;
    total.characters += text.length;
    const messages = this.kept.length - this.keptFrom;
    if (messages > limits.keptMessages) this.forget(this.keptFrom + 1, total);
    // Removes two messages per new one, so that the total shrinks.
    if (total.characters > limits.keptCharactersInAll) this.forget(this.keptFrom + 2, total);
    while (this.keptCharacters > limits.keptCharacters) this.forget(this.keptFrom + 1, total);
  }

  private forget(end: number, total: KeptTotal): void {
    const last = Math.min(end, this.kept.length);
    for (let i = this.keptFrom; i < last; i++) {
      this.keptCharacters -= this.kept[i]!.length;
      total.characters -= this.kept[i]!.length;
      this.kept[i] = '';
      this.keptAfter = this.keptNumbers[i]!;
    }
    this.keptFrom = last;
    if (this.keptFrom * 2 >= this.kept.length) {
      this.kept = this.kept.slice(this.keptFrom);
      this.keptNumbers = this.keptNumbers.slice(this.keptFrom);
      this.keptFrom = 0;
    }
  }
}
