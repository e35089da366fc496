/**
 * A channel: a numbered sequence of messages, those kept for `resume`, and the subscribers.
 *
 * Always holds:
 * - a command adds at most one message, whose number, `channelSequence`, is the journal sequence of
 *   the command. So a message has the same number in every process that follows the journal, and
 *   `resume` works after a restart and at another replica;
 * - the numbers have gaps, so a delta also has `previousSequence`: no message of the channel has a
 *   number between the two;
 * - the kept messages are the last ones: every message with a number above `keptAfter`, which at
 *   first is the engine's sequence when the channel is created;
 * - a channel without subscribers is forgotten after a while (see {@link Channel.isIdle}), so the
 *   number of channels is limited.
 */
import { count } from '../../json/response-fields.js';
import { channelText, type Stamp } from './message-text.js';

/** What messages of every channel hold, in the schemas that each declares for its own. */
export const DATA = 'The state of the channel, or its changes';
export const atMs = count.describe(
  'The time of the exchange then, in milliseconds since the epoch',
);

/** The size of the kept messages of all channels. */
export interface KeptTotal {
  characters: number;
}

interface KeptLimits {
  keptMessages: number;
  keptCharacters: number;
  keptCharactersInAll: number;
}

/** Receives a channel's messages. */
export interface Subscriber {
  /** The channel has ended; `text` is its last message. */
  channelClosed(text: string): void;
}

export abstract class Channel {
  /** Includes subscribers whose snapshot has not been sent yet. */
  readonly subscribers = new Set<Subscriber>();
  /** Whether the current command changed the channel. */
  isTouched = false;
  private idleSinceMs = 0;
  private kept: string[] = [];
  /** Their numbers. */
  private keptNumbers: number[] = [];
  /** Every message with a higher number is kept. */
  private keptAfter: number;
  /** Index of the first kept message; the entries before it are removed from time to time. */
  private keptFrom = 0;
  private keptCharacters = 0;

  /**
   * `topic`: for uWebSockets.js, unique across users. `lastSequence`: the number of the last
   * message; at first the engine's sequence.
   */
  constructor(
    readonly name: string,
    readonly topic: string,
    public lastSequence: number,
  ) {
    this.keptAfter = lastSequence;
  }

  /** The whole state as of the last command, as JSON. */
  abstract snapshotData(): string;

  /** Returns the changes of the last command, as JSON, and clears them. Called once per command. */
  protected abstract takeChanges(): string;

  /** Whether the last command, which touched the channel, changed what it shows. Called once. */
  takeWhetherChanged(): boolean {
    return true;
  }

  /** Whether the last command's message is a snapshot instead of a delta. */
  protected get sendsSnapshot(): boolean {
    return false;
  }

  /** Its number is the sequence that it is true at: no later message has it. */
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

  /** Whether the channel has had no subscriber for `keptMs`. */
  isIdle(nowMs: number, keptMs: number): boolean {
    return this.subscribers.size === 0 && nowMs - this.idleSinceMs >= keptMs;
  }

  /** Removes all kept messages. */
  drop(total: KeptTotal): void {
    this.forget(this.kept.length, total);
  }

  /** Numbers and returns the message of the last command. */
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

  /**
   * The messages after number `after`; null: not all are kept, or the number is beyond `sequence`,
   * that of the engine.
   */
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
    // Removes two messages per new one, so that the total shrinks again.
    if (total.characters > limits.keptCharactersInAll) this.forget(this.keptFrom + 2, total);
    while (this.keptCharacters > limits.keptCharacters) this.forget(this.keptFrom + 1, total);
  }

  /** Removes the messages before index `end`. */
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
