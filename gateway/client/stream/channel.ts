/**
 * One channel on the subscriber's side: the states of "Following a channel" in PROTOCOL.md. The
 * Python client has the same.
 *
 * Invariant: the subscriber gets every message in order. If messages are lost, `onGap` is called
 * before the snapshot that replaces them.
 */
import type { ExchangeError } from '../errors.js';
import type { ChannelMessage, ChannelName, Kind, Place } from './messages.js';

export interface Subscriber<Of extends Kind> {
  onMessage: (message: ChannelMessage<Of>) => void;
  /** Messages were lost. A snapshot follows. */
  onGap?: (() => void) | undefined;
  /**
   * With `null`, the channel's market was closed; with an error, the channel was refused or the
   * stream has ended. Without this callback, a refusal is thrown as an uncaught exception, which
   * ends a Node.js program.
   */
  onEnd?: ((error: Error | null) => void) | undefined;
}

/** Only a {@link ChannelMessage} reaches the subscriber. */
export type ChannelNews =
  | ChannelMessage<Kind>
  | ({ type: 'resumed' | 'gap' } & Place)
  | ({ type: 'replayed'; previousSequence: number } & Place);

export class FollowedChannel {
  /** `idle`: not requested, because there is no connection or the channel is refused for now. */
  private state: 'idle' | 'asked' | 'live' = 'idle';
  private heartbeats = 0;
  /** Where missing messages were requested, if any. */
  private missedAfter: number | null = null;
  private hasBegun: boolean;

  constructor(
    readonly name: ChannelName,
    readonly subscriber: Subscriber<Kind>,
    private place: Place | null,
  ) {
    this.hasBegun = place !== null;
  }

  /** Answers repeat the id, which is the channel's name. */
  request(): object {
    this.state = 'asked';
    this.heartbeats = 0;
    const { name, last } = this;
    if (last === null) return { op: 'subscribe', id: name, channels: [name] };
    return { op: 'resume', id: name, channel: name, after: last };
  }

  /** Like `compare`, returns whether the channel must be requested again. */
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

  /** `number` is the channel's last number, if the heartbeat lists it. */
  compare(number: number | undefined): boolean {
    if (this.state === 'live') return number !== undefined && number > this.last! && this.missed();
    // At the first heartbeat the answer may still be under way. A resume may take longer.
    const isListed = number !== undefined || this.place === null;
    return this.state === 'asked' && isListed && ++this.heartbeats > 1;
  }

  /** Only a channel that once existed can have been closed. */
  isClosedBy({ code }: ExchangeError): boolean {
    return code === 'market_not_found' && this.hasBegun;
  }

  pause(): void {
    this.state = 'idle';
  }

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

  /** A message requested before is lost. */
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

function isAfterGap(delta: ChannelMessage<Kind> & { type: 'delta' }, last: number): boolean {
  return delta.channelSequence <= last || delta.previousSequence > last;
}
