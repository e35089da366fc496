/** The state of the exchange as JSON and as tables. */
import {
  lotsText,
  outcomeName,
  resolutionName,
  sideName,
  statusName,
  ticksText,
} from '../../../engine/interface/notation.js';
import type { AccountView, FundsView } from '../../../engine/interface/views.js';
import type { KnownMarket, StateView } from '../input/state-view.js';
import { marketName, type Names, symbolOf } from './command-json.js';
import { dollarsText } from './command-text.js';
import { dollars, type JsonValue, price, shares, timeText } from './json-values.js';
import { tableText } from './output.js';

export function stateObject(view: StateView, names: Names, limit: number): JsonValue {
  const some = <T>(rows: readonly T[], toJson: (row: T) => JsonValue) =>
    rows.slice(0, Math.min(limit, rows.length)).map(toJson);
  return {
    sequence: view.sequence,
    atMs: view.atMs,
    time: timeText(view.atMs),
    digest: view.digest,
    funds: fundsObject(view.funds),
    assets: view.assets.map(({ asset, priceMicros }) => ({
      asset: symbolOf(asset, names),
      price: dollarsOrNull(priceMicros),
    })),
    users: some(view.users, (user) => ({
      userId: `u${user.userId}`,
      username: user.username,
      partner: user.partner,
      createdAtMs: user.createdAtMs,
      available: dollars(user.availableMicros),
      held: dollars(user.heldMicros),
      total: dollars(user.availableMicros + user.heldMicros),
      volume: dollars(user.volumeMicros),
      realizedProfit: dollars(user.realizedProfitMicros),
      trades: user.tradeCount,
      points: dollars(user.microPoints),
    })),
    markets: some(view.markets, (market) => marketObject(market, names)),
    orders: some(view.orders, (order) => ({
      orderId: `o${order.orderId}`,
      marketId: marketName(order.marketId, names),
      userId: `u${order.userId}`,
      side: sideName(order.side),
      outcome: outcomeName(order.outcome),
      price: price(order.priceTicks),
      shares: shares(order.sizeLots),
      placedAtMs: order.placedAtMs,
    })),
    positions: some(view.positions, (position) => ({
      userId: `u${position.userId}`,
      marketId: marketName(position.marketId, names),
      UP: shares(position.upLots),
      DOWN: shares(position.downLots),
      heldUP: shares(position.upHeldLots),
      heldDOWN: shares(position.downHeldLots),
      costUP: dollars(position.upCostMicros),
      costDOWN: dollars(position.downCostMicros),
    })),
    deposits: some(view.deposits, (deposit) => ({
      depositId: `d${deposit.depositId}`,
      userId: `u${deposit.userId}`,
      amount: dollars(deposit.amountMicros),
      accruedYield: dollars(deposit.accruedYieldMicros),
      claimedYield: dollars(deposit.claimedYieldMicros),
      stakedAtMs: deposit.stakedAtMs,
      earnsFromMs: deposit.earnsFromMs,
    })),
  };
}

function marketObject(market: KnownMarket, names: Names): JsonValue {
  return {
    marketId: marketName(market.marketId, names),
    status: statusName(market.status),
    resolution: resolutionName(market.resolution),
    startsAtMs: market.startsAtMs,
    endsAtMs: market.endsAtMs,
    startPrice: dollars(market.startPriceMicros),
    endPrice: dollarsOrNull(market.endPriceMicros),
    volume: dollars(market.volumeMicros),
    openInterest: shares(market.openInterestLots),
    collateral: dollars(market.collateralMicros),
    feeEscrow: dollars(market.feeEscrowMicros),
    bestBid: market.bestBidTicks === null ? null : price(market.bestBidTicks),
    bestAsk: market.bestAskTicks === null ? null : price(market.bestAskTicks),
    lastTrade: market.lastTradeTicks === null ? null : price(market.lastTradeTicks),
  };
}

/** Where all money is; the parts add up to deposits less withdrawals. */
const POTS: readonly [name: string, title: string, of: (funds: FundsView) => number][] = [
  ['available', 'available to users', (funds) => funds.availableMicros],
  ['held', 'held by resting orders', (funds) => funds.heldMicros],
  ['collateral', 'collateral of markets', (funds) => funds.collateralMicros],
  ['feeEscrow', 'fee escrow of markets', (funds) => funds.feeEscrowMicros],
  ['staked', 'staked in the vault', (funds) => funds.stakedMicros],
  ['yieldDue', 'yield due to the vault', (funds) => funds.yieldDueMicros],
  ['treasury', 'treasury', (funds) => funds.treasuryMicros],
];
const FUNDS: typeof POTS = [
  ...POTS,
  ['sum', 'sum', (funds) => POTS.reduce((sum, [, , of]) => sum + of(funds), 0)],
  ['netDeposits', 'deposits less withdrawals', (funds) => funds.netDepositsMicros],
];

export function fundsObject(funds: FundsView): JsonValue {
  return Object.fromEntries(FUNDS.map(([name, , of]) => [name, dollars(of(funds))]));
}

function dollarsOrNull(micros: number | null): JsonValue {
  return micros === null ? null : dollars(micros);
}

export function fundsText(funds: FundsView): string {
  const rows = FUNDS.map(([, title, of]) => [title, dollarsText(of(funds))]);
  return tableText({ title: 'Money', heads: ['pot', '>amount'], rows, limit: rows.length });
}

export function stateText(view: StateView, names: Names, limit: number): string {
  const total = (user: AccountView) => user.availableMicros + user.heldMicros;
  const richestFirst = view.users.toSorted((a, b) => total(b) - total(a) || a.userId - b.userId);
  const table = (title: string, heads: readonly string[], rows: string[][]) =>
    `\n${tableText({ title: `${title} (${rows.length})`, heads, rows, limit })}`;
  return [
    `The exchange at sequence ${view.sequence}, ${timeText(view.atMs)}, digest ${view.digest}\n\n`,
    fundsText(view.funds),
    table(
      'Assets',
      ['asset', '>price'],
      view.assets.map(({ asset, priceMicros }) => [
        symbolOf(asset, names),
        dollarsOrDash(priceMicros),
      ]),
    ),
    table(
      'Users',
      [
        'user',
        'name',
        'partner',
        '>available',
        '>held',
        '>total',
        '>volume',
        '>realized profit',
        '>trades',
      ],
      richestFirst.map((user) => [
        `u${user.userId}`,
        user.username,
        user.partner ?? '-',
        dollarsText(user.availableMicros),
        dollarsText(user.heldMicros),
        dollarsText(total(user)),
        dollarsText(user.volumeMicros),
        dollarsText(user.realizedProfitMicros),
        `${user.tradeCount}`,
      ]),
    ),
    table(
      'Markets',
      MARKET_HEADS,
      view.markets.map((market) => marketRow(market, names)),
    ),
    table(
      'Resting orders',
      ['order', 'user', 'market', 'side', 'outcome', '>price', '>shares', 'placed'],
      view.orders.map((order) => [
        `o${order.orderId}`,
        `u${order.userId}`,
        marketName(order.marketId, names),
        sideName(order.side),
        outcomeName(order.outcome),
        ticksText(order.priceTicks),
        lotsText(order.sizeLots),
        timeText(order.placedAtMs),
      ]),
    ),
    table(
      'Positions',
      ['user', 'market', '>UP', '>DOWN', '>UP held', '>DOWN held', '>cost UP', '>cost DOWN'],
      view.positions.map((position) => [
        `u${position.userId}`,
        marketName(position.marketId, names),
        lotsText(position.upLots),
        lotsText(position.downLots),
        lotsText(position.upHeldLots),
        lotsText(position.downHeldLots),
        dollarsText(position.upCostMicros),
        dollarsText(position.downCostMicros),
      ]),
    ),
    table(
      'Vault deposits',
      ['deposit', 'user', '>amount', '>accrued yield', '>claimed yield', 'earns from'],
      view.deposits.map((deposit) => [
        `d${deposit.depositId}`,
        `u${deposit.userId}`,
        dollarsText(deposit.amountMicros),
        dollarsText(deposit.accruedYieldMicros),
        dollarsText(deposit.claimedYieldMicros),
        timeText(deposit.earnsFromMs),
      ]),
    ),
  ].join('');
}

const MARKET_HEADS = [
  'market',
  'status',
  'resolution',
  '>start price',
  '>end price',
  '>volume',
  '>sets',
  '>collateral',
  '>fee escrow',
  '>bid UP',
  '>ask UP',
];

function marketRow(market: KnownMarket, names: Names): string[] {
  return [
    marketName(market.marketId, names),
    statusName(market.status),
    resolutionName(market.resolution) ?? '-',
    dollarsText(market.startPriceMicros),
    dollarsOrDash(market.endPriceMicros),
    dollarsText(market.volumeMicros),
    lotsText(market.openInterestLots),
    dollarsText(market.collateralMicros),
    dollarsText(market.feeEscrowMicros),
    market.bestBidTicks === null ? '-' : ticksText(market.bestBidTicks),
    market.bestAskTicks === null ? '-' : ticksText(market.bestAskTicks),
  ];
}

function dollarsOrDash(micros: number | null): string {
  return micros === null ? '-' : dollarsText(micros);
}
