/** The state of the exchange as a report. */
import {
  outcomeName,
  resolutionName,
  sideName,
  statusName,
} from '../../../../engine/interface/notation.js';
import type {
  AccountView,
  FundsView,
  OrderGroupView,
  OrderView,
  VaultDepositView,
} from '../../../../engine/interface/views.js';
import type { JournalPosition } from '../../../journal/format.js';
import type { HeldPosition, KnownMarket, StateView } from '../input/state-view.js';
import { marketName, type Names, symbolOf } from './fields.js';
import { type Columns, type Report, type ReportTable, tableOf } from './report.js';
import { COUNT, DOLLARS, dollars, type JsonValue, PRICE, SHARES, TIME, timeText } from './units.js';

const ASSETS: Columns<StateView['assets'][number]> = [
  ['asset', 'asset', ({ asset }, names) => symbolOf(asset, names)],
  ['price', 'price', ({ priceMicros }) => priceMicros, DOLLARS],
];

const USERS: Columns<AccountView> = [
  ['userId', 'user', (user) => `u${user.userId}`],
  ['username', 'name', (user) => user.username],
  ['partner', 'partner', (user) => user.partner],
  ['createdAtMs', null, (user) => user.createdAtMs],
  ['available', 'available', (user) => user.availableMicros, DOLLARS],
  ['held', 'held', (user) => user.heldMicros, DOLLARS],
  ['total', 'total', totalOf, DOLLARS],
  ['volume', 'volume', (user) => user.volumeMicros, DOLLARS],
  ['realizedProfit', 'realized profit', (user) => user.realizedProfitMicros, DOLLARS],
  ['trades', 'trades', (user) => user.tradeCount, COUNT],
  ['points', null, (user) => user.microPoints, DOLLARS],
];

const MARKETS: Columns<KnownMarket> = [
  ['marketId', 'market', (market, names) => marketName(market.marketId, names)],
  ['status', 'status', (market) => statusName(market.status)],
  ['resolution', 'resolution', (market) => resolutionName(market.resolution)],
  ['startsAtMs', null, (market) => market.startsAtMs],
  ['endsAtMs', null, (market) => market.endsAtMs],
  ['startPrice', 'start price', (market) => market.startPriceMicros, DOLLARS],
  ['endPrice', 'end price', (market) => market.endPriceMicros, DOLLARS],
  ['volume', 'volume', (market) => market.volumeMicros, DOLLARS],
  ['openInterest', 'sets', (market) => market.openInterestLots, SHARES],
  ['collateral', 'collateral', (market) => market.collateralMicros, DOLLARS],
  ['feeEscrow', 'fee escrow', (market) => market.feeEscrowMicros, DOLLARS],
  ['bestBid', 'bid UP', (market) => market.bestBidTicks, PRICE],
  ['bestAsk', 'ask UP', (market) => market.bestAskTicks, PRICE],
  ['lastTrade', null, (market) => market.lastTradeTicks, PRICE],
];

const ORDERS: Columns<OrderView> = [
  ['orderId', 'order', (order) => `o${order.orderId}`],
  // The market comes before the user in JSON, and after it in text.
  ['marketId', null, (order, names) => marketName(order.marketId, names)],
  ['userId', 'user', (order) => `u${order.userId}`],
  [null, 'market', (order, names) => marketName(order.marketId, names)],
  ['side', 'side', (order) => sideName(order.side)],
  ['outcome', 'outcome', (order) => outcomeName(order.outcome)],
  ['price', 'price', (order) => order.priceTicks, PRICE],
  ['shares', 'shares', (order) => order.sizeLots, SHARES],
  ['groupId', null, (order) => (order.groupId === 0 ? null : `g${order.groupId}`)],
  ['placedAtMs', 'placed', (order) => order.placedAtMs, TIME],
];

const ORDER_GROUPS: Columns<OrderGroupView> = [
  ['groupId', 'group', (group) => `g${group.groupId}`],
  ['userId', 'user', (group) => `u${group.userId}`],
  ['maxFilledShares', 'max filled', (group) => group.maxFilledLots, SHARES],
  ['windowMs', 'window ms', (group) => group.windowMs, COUNT],
  ['filledShares', 'filled', (group) => group.filledLots, SHARES],
  ['windowEndsAtMs', null, (group) => group.windowEndsAtMs],
  ['tripped', 'tripped', (group) => group.tripped],
  ['orders', 'orders', (group) => group.orderCount, COUNT],
];

const POSITIONS: Columns<HeldPosition> = [
  ['userId', 'user', (position) => `u${position.userId}`],
  ['marketId', 'market', (position, names) => marketName(position.marketId, names)],
  ['UP', 'UP', (position) => position.upLots, SHARES],
  ['DOWN', 'DOWN', (position) => position.downLots, SHARES],
  ['heldUP', 'UP held', (position) => position.upHeldLots, SHARES],
  ['heldDOWN', 'DOWN held', (position) => position.downHeldLots, SHARES],
  ['costUP', 'cost UP', (position) => position.upCostMicros, DOLLARS],
  ['costDOWN', 'cost DOWN', (position) => position.downCostMicros, DOLLARS],
];

const DEPOSITS: Columns<VaultDepositView> = [
  ['depositId', 'deposit', (deposit) => `d${deposit.depositId}`],
  ['userId', 'user', (deposit) => `u${deposit.userId}`],
  ['amount', 'amount', (deposit) => deposit.amountMicros, DOLLARS],
  ['accruedYield', 'accrued yield', (deposit) => deposit.accruedYieldMicros, DOLLARS],
  ['claimedYield', 'claimed yield', (deposit) => deposit.claimedYieldMicros, DOLLARS],
  ['stakedAtMs', null, (deposit) => deposit.stakedAtMs],
  ['earnsFromMs', 'earns from', (deposit) => deposit.earnsFromMs, TIME],
];

type Pot = readonly [name: string, title: string, of: (funds: FundsView) => number];
/** Where all money is; the parts add up to deposits less withdrawals. */
const POTS: readonly Pot[] = [
  ['available', 'available to users', (funds) => funds.availableMicros],
  ['held', 'held by resting orders', (funds) => funds.heldMicros],
  ['collateral', 'collateral of markets', (funds) => funds.collateralMicros],
  ['feeEscrow', 'fee escrow of markets', (funds) => funds.feeEscrowMicros],
  ['staked', 'staked in the vault', (funds) => funds.stakedMicros],
  ['yieldDue', 'yield due to the vault', (funds) => funds.yieldDueMicros],
  ['treasury', 'treasury', (funds) => funds.treasuryMicros],
];
const FUNDS: readonly Pot[] = [
  ...POTS,
  ['sum', 'sum', (funds) => POTS.reduce((sum, [, , of]) => sum + of(funds), 0)],
  ['netDeposits', 'deposits less withdrawals', (funds) => funds.netDepositsMicros],
];

/** @param inIdOrder otherwise the richest users come first. */
export function stateReport(
  view: StateView,
  batch: JournalPosition,
  names: Names,
  inIdOrder: boolean,
): Report {
  const { sequence, atMs, digest, funds } = view;
  const time = timeText(atMs);
  const { sequence: lastSequence } = batch;
  const hash = batch.hash.toString('hex');
  const users = inIdOrder
    ? view.users
    : view.users.toSorted((a, b) => totalOf(b) - totalOf(a) || a.userId - b.userId);
  const table = <Row>(name: string, title: string, columns: Columns<Row>, rows: readonly Row[]) =>
    tableOf({ name, title: `\n${title} (${rows.length})`, columns, rows, names });
  return {
    fields: {
      sequence,
      atMs,
      time,
      digest,
      batch: { lastSequence, hash },
      funds: fundsObject(funds),
    },
    head:
      `The exchange at sequence ${sequence}, ${time}, digest ${digest}\n` +
      `It is in the batch that ends at ${lastSequence}, with the SHA-256 ${hash}\n\n`,
    tables: [
      fundsTable(funds, names),
      table('assets', 'Assets', ASSETS, view.assets),
      table('users', 'Users', USERS, users),
      table('markets', 'Markets', MARKETS, view.markets),
      table('orders', 'Resting orders', ORDERS, view.orders),
      table('orderGroups', 'Order groups', ORDER_GROUPS, view.orderGroups),
      table('positions', 'Positions', POSITIONS, view.positions),
      table('deposits', 'Vault deposits', DEPOSITS, view.deposits),
    ],
  };
}

export function fundsObject(funds: FundsView): JsonValue {
  return Object.fromEntries(FUNDS.map(([name, , of]) => [name, dollars(of(funds))]));
}

export function fundsTable(funds: FundsView, names: Names): ReportTable {
  const columns: Columns<Pot> = [
    [null, 'pot', ([, title]) => title],
    [null, 'amount', ([, , of]) => of(funds), DOLLARS],
  ];
  return tableOf({ name: null, title: 'Money', columns, rows: FUNDS, names });
}

function totalOf(user: AccountView): number {
  return user.availableMicros + user.heldMicros;
}
