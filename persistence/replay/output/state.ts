/** The state of the exchange as JSON and as tables. */
import {
  outcomeName,
  resolutionName,
  sideName,
  statusName,
} from '../../../engine/interface/notation.js';
import type {
  AccountView,
  FundsView,
  OrderView,
  VaultDepositView,
} from '../../../engine/interface/views.js';
import type { HeldPosition, KnownMarket, StateView } from '../input/state-view.js';
import {
  COUNT,
  type Columns,
  DOLLARS,
  PRICE,
  rowObjects,
  rowsText,
  SHARES,
  TIME,
} from './columns.js';
import { marketName, type Names, symbolOf } from './command-json.js';
import { dollarsText } from './command-text.js';
import { dollars, type JsonValue, timeText } from './json-values.js';
import { tableText } from './output.js';

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
  ['placedAtMs', 'placed', (order) => order.placedAtMs, TIME],
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

export function stateObject(view: StateView, names: Names, limit: number): JsonValue {
  const some = <Row>(columns: Columns<Row>, rows: readonly Row[], most = limit) =>
    rowObjects(columns, rows.slice(0, Math.min(most, rows.length)), names);
  return {
    sequence: view.sequence,
    atMs: view.atMs,
    time: timeText(view.atMs),
    digest: view.digest,
    funds: fundsObject(view.funds),
    assets: some(ASSETS, view.assets, view.assets.length),
    users: some(USERS, view.users),
    markets: some(MARKETS, view.markets),
    orders: some(ORDERS, view.orders),
    positions: some(POSITIONS, view.positions),
    deposits: some(DEPOSITS, view.deposits),
  };
}

export function stateText(view: StateView, names: Names, limit: number): string {
  const richestFirst = view.users.toSorted(
    (a, b) => totalOf(b) - totalOf(a) || a.userId - b.userId,
  );
  const table = <Row>(title: string, columns: Columns<Row>, rows: readonly Row[]) =>
    `\n${rowsText(columns, { title: `${title} (${rows.length})`, rows, names, limit })}`;
  return [
    `The exchange at sequence ${view.sequence}, ${timeText(view.atMs)}, digest ${view.digest}\n\n`,
    fundsText(view.funds),
    table('Assets', ASSETS, view.assets),
    table('Users', USERS, richestFirst),
    table('Markets', MARKETS, view.markets),
    table('Resting orders', ORDERS, view.orders),
    table('Positions', POSITIONS, view.positions),
    table('Vault deposits', DEPOSITS, view.deposits),
  ].join('');
}

export function fundsObject(funds: FundsView): JsonValue {
  return Object.fromEntries(FUNDS.map(([name, , of]) => [name, dollars(of(funds))]));
}

export function fundsText(funds: FundsView): string {
  const rows = FUNDS.map(([, title, of]) => [title, dollarsText(of(funds))]);
  return tableText({ title: 'Money', heads: ['pot', '>amount'], rows, limit: rows.length });
}

function totalOf(user: AccountView): number {
  return user.availableMicros + user.heldMicros;
}
