/** An order book as JSON bytes. A bid for UP at p is an offer of DOWN at 1 - p, and vice versa. */
import { MICROS_PER_SET } from '../../../engine/interface/limits.js';
import { type Assets, marketIdText, ticksText } from '../../../engine/interface/notation.js';
import type { DepthLevel, DepthView } from '../../../engine/interface/views.js';
import { AsciiWriter, ascii } from '../../json/ascii-writer.js';

const UP_BIDS = ascii(',"UP":{"bids":[');
const DOWN_BIDS = ascii(']},"DOWN":{"bids":[');
const ASKS = ascii('],"asks":[');
const END = ascii(']}}');
/** Up to the level's shares, by price. */
const LEVELS = Array.from({ length: MICROS_PER_SET }, (_, ticks) =>
  ascii(`{"price":${ticksText(ticks)},"shares":`),
);
const COMMA = 44;
const BRACE = 125;
const out = new AsciiWriter();

export function orderbookBytes(...book: Parameters<typeof write>): Uint8Array {
  write(...book);
  return out.toBytes();
}

export function orderbookText(...book: Parameters<typeof write>): string {
  write(...book);
  return out.toText();
}

/** `atMs` is absent in a stream message, which has its own. */
type At = { sequence: number; atMs?: number };

function write(assets: Assets, marketId: number, depth: DepthView, at: At): void {
  const { bids, asks } = depth;
  out.clear();
  out.text(`{"marketId":"${marketIdText(assets, marketId)}","sequence":${at.sequence}`);
  if (at.atMs !== undefined) out.text(`,"atMs":${at.atMs}`);
  out.put(UP_BIDS);
  writeLevels(bids, ownPrice);
  out.put(ASKS);
  writeLevels(asks, ownPrice);
  out.put(DOWN_BIDS);
  writeLevels(asks, otherPrice);
  out.put(ASKS);
  writeLevels(bids, otherPrice);
  out.put(END);
}

const ownPrice = (ticks: number) => ticks;
const otherPrice = (ticks: number) => MICROS_PER_SET - ticks;

function writeLevels(levels: readonly DepthLevel[], priceOf: (ticks: number) => number): void {
  for (let i = 0; i < levels.length; i++) {
    const { priceTicks, sizeLots } = levels[i]!;
    if (i > 0) out.byte(COMMA);
    out.lots(LEVELS[priceOf(priceTicks)]!, sizeLots);
    out.byte(BRACE);
  }
}
