/** Messages of the stream's channels, typed by their schemas. PROTOCOL.md explains them. */
import type { CHANNELS } from '../../stream/hub.js';
import type { Answer } from '../answer.js';

export type ChannelData = {
  [Of in keyof typeof CHANNELS]: {
    snapshot: Answer<(typeof CHANNELS)[Of]['snapshot']>;
    delta: Answer<(typeof CHANNELS)[Of]['delta']>;
  };
};
export type MarketChange = ChannelData['markets']['delta']['changes'][number];
/** Outcome, side and price are the taker's. */
export type TapeTrade = ChannelData['trades']['delta']['trades'][number];
export type AssetPrice = ChannelData['prices']['snapshot'];
export type UserEvent = ChannelData['user']['delta']['events'][number];
export type Fill = Extract<UserEvent, { type: 'fill' }>;

export type Kind = keyof ChannelData;
/** Channel names as in PROTOCOL.md, such as "book:<marketId>". */
export type ChannelName = {
  [Of in Kind]: (typeof CHANNELS)[Of]['of'] extends 'market' | 'asset' | 'subAccount'
    ? `${Of}:${string}`
    : Of;
}[Kind];
export type KindOf<Channel extends ChannelName> = Channel extends `${infer Of}:${string}`
  ? Of & Kind
  : Channel & Kind;

interface Stamp {
  channel: string;
  channelSequence: number;
  /** The journal sequence whose state the message shows. */
  sequence: number;
  atMs: number;
}
/** A snapshot replaces the subscriber's state, a delta changes it. */
export type ChannelMessage<Of extends Kind> =
  | (Stamp & { type: 'snapshot'; data: ChannelData[Of]['snapshot'] })
  | (Stamp & { type: 'delta'; previousSequence: number; data: ChannelData[Of]['delta'] });

/** A subscriber's position in its channel. */
export interface Place {
  /** The sequence of the last applied message. */
  sequence: number;
  /** The last applied message's number in the channel; `null` if unknown. */
  channelSequence: number | null;
}
