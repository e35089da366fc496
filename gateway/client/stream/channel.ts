/**
 * One channel as its subscriber has it: the states of "Following a channel" in PROTOCOL.md. The
 * client in Python has the same.
 *
 * Always holds: the subscriber gets every message in order; where some are left out, `onGap` is
 * called before the snapshot that replaces them.
 */
import type { ExchangeError } from '../errors.js';
import type { ChannelMessage, ChannelName, Kind, Place } from './messages.js';

export interface Subscriber<Of extends Kind> {
  onMessage: (message: ChannelMessage<Of>) => void;
  /** The messages since the last one are lost; a snapshot follows. */
  onGap?: (() => void) | undefined;
  /**
   * The channel has ended. null: its market was closed. An error: it was refused, or the stream has
   * ended. Without this callback, a refusal is thrown where nothing catches it, which ends a
   * program of Node.js.
   */
  onEnd?: ((error: Error | null) => void) | undefined;
}

/** What a channel receives, beside the messages of its subscriber. */
export type ChannelNews =
  | ChannelMessage<Kind>
  | ({ type: 'resumed' | 'gap' } & Place)
  | ({ type: 'replayed'; previousSequence: number } & Place);

export class FollowedChannel {
  /** idle: not asked for, because there is no connection, or because it was refused for now. */
  private state: 'idle' | 'asked' | 'live' = 'idle';
  /** Heartbeats since it was asked for. */
  private heartbeats = 0;
  /** The number from which missing messages were asked for; null: none were. */
  private missedAfter: number | null = null;
  private hasBegun: boolean;

  constructor(
    readonly name: ChannelName,
    readonly subscriber: Subscriber<Kind>,
    private place: Place | null,
  ) {
    this.hasBegun = place !== null;
  }

  /** The message that asks for it: with its name as the id, which every answer repeats. */
  request(): object {
    this.state = 'asked';
    this.heartbeats = 0;
    const { name, last } = this;
    if (last === null) return { op: 'subscribe', id: name, channels: [name] };
    return { op: 'resume', id: name, channel: name, after: last };
  }

  /** Returns whether it must be asked for again, as `compare` and `isRefused` do. */
  receive(message: ChannelNews): boolean {
    switch (message.type) {
      case 'delta':
        if (this.state !== 'live') return false;
        if (isAfterGap(message, this.last!)) return this.missed();
        this.deliver(message);
        return false;
      case 'snapshot':
        this.state = 'live';
        this.deliver(message);
        return false;
      case 'resumed':
        this.state = 'live';
        return false;
      case 'replayed':
        if (this.state !== 'live' || this.last === null) return false;
        if (message.previousSequence > this.last) return this.missed();
        if (message.channelSequence! > this.last) this.place = message;
        return false;
      case 'gap':
        this.state = 'asked';
        this.skip();
        return false;
    }
  }

  /** A heartbeat has come, with the channel's last number if the exchange has sent all up to it. */
  compare(number: number | undefined): boolean {
    if (this.state === 'live') return number !== undefined && number > this.last! && this.missed();
    // The answer may be on its way at the first heartbeat. A resume may take longer.
    const isListed = number !== undefined || this.place === null;
    return this.state === 'asked' && isListed && ++this.heartbeats > 1;
  }

  /** Whether a refusal means that the market was closed, because the channel was there before. */
  isClosedBy({ code }: ExchangeError): boolean {
    return code === 'market_not_found' && this.hasBegun;
  }

  pause(): void {
    this.state = 'idle';
  }

  /** To begin with a new snapshot. */
  forget(): void {
    this.place = null;
  }

  private get last(): number | null {
    return this.place && (this.place.channelSequence ?? this.place.sequence);
  }

  private deliver(message: ChannelMessage<Kind>): void {
    const { sequence, channelSequence } = message;
    this.place = { sequence, channelSequence };
    this.hasBegun = true;
    this.subscriber.onMessage(message);
  }

  /** A message is missing. Those that are still missing when they were sent again are lost. */
  private missed(): true {
    if (this.missedAfter === this.last) this.skip();
    else this.missedAfter = this.last;
    return true;
  }

  private skip(): void {
    this.place = null;
    this.subscriber.onGap?.();
  }
}

/** Whether a message is missing between number `last` and a delta. */
function isAfterGap(delta: ChannelMessage<Kind> & { type: 'delta' }, last: number): boolean {
  return delta.channelSequence <= last || delta.previousSequence > last;
}
