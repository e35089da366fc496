/**
 * The lines of a statement: what each entry of an account's lists changed. Every micro-dollar and
 * every share that the account gains or loses, or that becomes held or available, is in one line.
 * A resting sell holds shares, which stay the user's: it has no line.
 */
import { Outcome, Side } from '../../../engine/interface/domain.js';
import { MICROS_PER_SET } from '../../../engine/interface/limits.js';
import {
  type EntryOf,
  PaymentKind,
  type USER_ORDER,
  type USER_PAYMENT,
  type USER_TRADE,
} from '../format.js';
import { OrderEntry, orderEntryOf, termsOf } from './order-terms.js';

/** Why money or shares changed. */
export const LEDGER_CAUSES = [
  'grant',
  'deposit',
  'withdrawal',
  'fill',
  'fee',
  'hold',
  'release',
  'claim',
  'refund',
  'stake',
  'unstake',
  'yield',
  'referral',
] as const;
export type LedgerCause = (typeof LEDGER_CAUSES)[number];

/** Ids are 0 if there is none. */
export interface LedgerChange {
  sequence: number;
  atMs: number;
  cause: LedgerCause;
  marketId: number;
  orderId: number;
  tradeId: number;
  depositId: number;
  availableMicros: number;
  heldMicros: number;
  shares: { outcome: Outcome; lots: number } | null;
}

type TradeEntry = EntryOf<typeof USER_TRADE>;
type OrderEntryRow = EntryOf<typeof USER_ORDER>;
type PaymentEntry = EntryOf<typeof USER_PAYMENT>;

/** An entry of one of the three lists of an account. */
export type AccountEntry =
  | { list: 'trade'; entry: TradeEntry }
  | { list: 'order'; entry: OrderEntryRow }
  | { list: 'payment'; entry: PaymentEntry };

/** No entry has more lines. */
export const LINES_MAX = 4;

const TAKER = 0;

/**
 * The entries in the order in which they changed the account (entries.ts): of one command, payments
 * come first, and each order follows its own trades: of one that rests, those that leave what
 * rests; of another, all. An order that is placed twice in one command rested in between.
 */
export function inOrder(
  trades: readonly TradeEntry[],
  orders: readonly OrderEntryRow[],
  payments: readonly PaymentEntry[],
): AccountEntry[] {
  const all: AccountEntry[] = [];
  let [trade, payment] = [0, 0];
  const addTrades = (isNext: (entry: TradeEntry) => boolean) => {
    for (; trade < trades.length && isNext(trades[trade]!); trade++)
      all.push({ list: 'trade', entry: trades[trade]! });
  };
  const addPayments = (upTo: number) => {
    for (; payment < payments.length && payments[payment]!.sequence <= upTo; payment++) {
      const entry = payments[payment]!;
      addTrades(({ sequence }) => sequence < entry.sequence);
      all.push({ list: 'payment', entry });
    }
  };
  for (const entry of orders) {
    addPayments(entry.sequence);
    const { restingLots } = entry;
    let lotsLeft = restingLots > 0 ? entry.sizeLots - restingLots : Number.POSITIVE_INFINITY;
    if (!isPlaced(entry)) lotsLeft = 0;
    addTrades(({ sequence }) => sequence < entry.sequence);
    addTrades(({ sequence, role, orderId, sizeLots }) => {
      if (sequence !== entry.sequence || role !== TAKER || orderId !== entry.orderId) return false;
      if (lotsLeft === 0) return false;
      lotsLeft -= sizeLots;
      return true;
    });
    all.push({ list: 'order', entry });
  }
  addPayments(Number.POSITIVE_INFINITY);
  addTrades(() => true);
  return all;
}

/** @param voidLots the lots of both outcomes that a claim in a VOID market was for. */
export function linesOf(
  { list, entry }: AccountEntry,
  voidLots: (claim: PaymentEntry) => { upLots: number; downLots: number },
): LedgerChange[] {
  switch (list) {
    case 'trade':
      return linesOfTrade(entry);
    case 'order':
      return linesOfOrder(entry);
    case 'payment':
      return linesOfPayment(entry, voidLots);
  }
}

function linesOfTrade(trade: TradeEntry): LedgerChange[] {
  const { orderId, tradeId, marketId, outcome, sizeLots, priceTicks, feeMicros } = trade;
  const base = { ...emptyChange(trade), marketId, orderId, tradeId };
  const valueMicros = sizeLots * priceTicks;
  const isBuy = trade.side === Side.BUY;
  const isHeld = isBuy && trade.role !== TAKER;
  const lines: LedgerChange[] = [
    {
      ...base,
      cause: 'fill',
      availableMicros: isHeld ? 0 : isBuy ? 0 - valueMicros : valueMicros,
      heldMicros: isHeld ? 0 - valueMicros : 0,
      shares: { outcome: outcome as Outcome, lots: isBuy ? sizeLots : 0 - sizeLots },
    },
  ];
  if (feeMicros > 0) lines.push({ ...base, cause: 'fee', availableMicros: 0 - feeMicros });
  return lines;
}

function linesOfOrder(order: OrderEntryRow): LedgerChange[] {
  const { side } = termsOf(order.terms);
  const { orderId, marketId, priceTicks } = order;
  const enters = isPlaced(order);
  const lots = enters ? order.restingLots : order.sizeLots;
  if (side === Side.SELL || lots === 0) return [];
  const micros = lots * priceTicks;
  return [
    {
      ...emptyChange(order),
      cause: enters ? 'hold' : 'release',
      marketId,
      orderId,
      availableMicros: enters ? 0 - micros : micros,
      heldMicros: enters ? micros : 0 - micros,
    },
  ];
}

/** Placed, perhaps anew, rather than an entry of lots that leave the book. */
function isPlaced({ terms }: OrderEntryRow): boolean {
  const entry = orderEntryOf(terms);
  return entry === OrderEntry.PLACED || entry === OrderEntry.REPLACED;
}

function linesOfPayment(
  payment: PaymentEntry,
  voidLots: (claim: PaymentEntry) => { upLots: number; downLots: number },
): LedgerChange[] {
  const { kind, marketId, depositId, amountMicros, extraMicros, upLots, downLots } = payment;
  const base = { ...emptyChange(payment), marketId, depositId, availableMicros: amountMicros };
  switch (kind) {
    case PaymentKind.GRANT:
      return [{ ...base, cause: 'grant' }];
    case PaymentKind.DEPOSIT:
      return [{ ...base, cause: 'deposit' }];
    case PaymentKind.WITHDRAWAL:
      return [{ ...base, cause: 'withdrawal' }];
    case PaymentKind.REFERRAL:
      return [{ ...base, cause: 'referral' }];
    case PaymentKind.STAKE:
      return [{ ...base, cause: 'stake' }];
    case PaymentKind.UNSTAKE: {
      const earned = { ...base, cause: 'yield', availableMicros: extraMicros } as const;
      return [{ ...base, cause: 'unstake' }, ...(extraMicros > 0 ? [earned] : [])];
    }
    case PaymentKind.YIELD:
      return [{ ...base, cause: 'yield' }];
    case PaymentKind.CLAIM: {
      const refund = { ...base, cause: 'refund', availableMicros: extraMicros } as const;
      const lots = isVoidClaim(payment) ? voidLots(payment) : { upLots, downLots };
      return [...claimLines(base, lots, amountMicros), ...(extraMicros > 0 ? [refund] : [])];
    }
    case PaymentKind.LOSS:
      return claimLines(base, { upLots, downLots }, 0);
    default:
      throw new Error(`no payment has the kind ${kind}`);
  }
}

/** A claim in a VOID market pays half as much for a lot as one in another. */
export function isVoidClaim({ kind, amountMicros, upLots, downLots }: PaymentEntry): boolean {
  return kind === PaymentKind.CLAIM && amountMicros < (upLots + downLots) * MICROS_PER_SET;
}

/** The shares of each outcome leave in a line of their own, each for its part of the payout. */
function claimLines(
  base: LedgerChange,
  { upLots, downLots }: { upLots: number; downLots: number },
  payoutMicros: number,
): LedgerChange[] {
  const microsPerLot = upLots + downLots === 0 ? 0 : payoutMicros / (upLots + downLots);
  const lineOf = (outcome: Outcome, lots: number): LedgerChange => ({
    ...base,
    cause: 'claim',
    availableMicros: lots * microsPerLot,
    shares: { outcome, lots: 0 - lots },
  });
  return [lineOf(Outcome.UP, upLots), lineOf(Outcome.DOWN, downLots)].filter(
    ({ shares }) => shares!.lots !== 0,
  );
}

function emptyChange({ sequence, atMs }: { sequence: number; atMs: number }): LedgerChange {
  return {
    sequence,
    atMs,
    cause: 'fill',
    marketId: 0,
    orderId: 0,
    tradeId: 0,
    depositId: 0,
    availableMicros: 0,
    heldMicros: 0,
    shares: null,
  };
}
