/** The state of the exchange as a report. */
import type { Engine } from '../../../../engine/engine.js';
import {
  marketIdNumber,
  outcomeName,
  resolutionName,
  sideName,
  statusName,
} from '../../../../engine/interface/notation.js';
import type {
  AccountView,
  FundsView,
  MarketFundsView,
  MarketView,
  OrderGroupView,
  OrderView,
  PositionView,
  VaultDepositView,
} from '../../../../engine/interface/views.js';
import type { JournalPosition } from '../../../journal/format.js';
import { marketName, type Names, symbolOf } from './fields.js';
import { type Columns, type Report, type ReportTable, tableOf } from './report.js';
import { COUNT, DOLLARS, dollars, type JsonValue, PRICE, SHARES, TIME, timeText } from './units.js';

export interface StateFilter {
  /** null: all users, all markets. */
  userId: number | null;
  /** A market id such as btc-15m-1763700300. */
  market: string | null;
}

const ASSETS: Columns<readonly [asset: number, priceMicros: number | null]> = [
  ['asset', 'asset', ([asset], names) => symbolOf(asset, names)],
  ['price', 'price', ([, priceMicros]) => priceMicros, DOLLARS],
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

const MARKETS: Columns<MarketView & MarketFundsView> = [
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

const POSITIONS: Columns<PositionView & { userId: number }> = [
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

/**
 * The state as it is now, as a report that is finished when its batch is proven.
 * @param inIdOrder otherwise the richest users come first.
 */
export function stateReport(
  engine: Engine,
  { userId, market }: StateFilter,
  inIdOrder: boolean,
): (batch: JournalPosition) => Report {
  const { sequence, nowMs: atMs, userCount, assetCount } = engine;
  const [time, digest, funds] = [timeText(atMs), engine.digest(), engine.funds()];
  const marketId = market === null ? null : marketIdNumber(engine, market);
  const isWanted = (of: { marketId: number }) => marketId === null || of.marketId === marketId;
  const all = Array.from({ length: userCount }, (_, i) => i + 1);
  const userIds = all.filter((id) => userId === null || id === userId);
  const users = userIds.map((id) => engine.account(id)!);
  if (!inIdOrder) users.sort((a, b) => totalOf(b) - totalOf(a) || a.userId - b.userId);
  const table = <Row>(name: string, title: string, columns: Columns<Row>, rows: readonly Row[]) =>
    tableOf({ name, title: `\n${title} (${rows.length})`, columns, rows, names: engine });
  const assets = Array.from(
    { length: assetCount },
    (_, i) => [i, engine.assetPriceMicros(i)] as const,
  );
  const markets = engine
    .marketIds()
    .map((id) => ({ ...engine.market(id)!, ...engine.marketFunds(id)! }));
  const orders = userIds.flatMap((id) => engine.orders(id)).filter(isWanted);
  const groups = userIds.flatMap((id) => engine.orderGroups(id));
  const positions = userIds
    .flatMap((id) => engine.positions(id).map((position) => ({ ...position, userId: id })))
    .filter(isWanted);
  const deposits = userIds.flatMap((id) => engine.vaultDeposits(id));
  const tables = [
    fundsTable(funds, engine),
    table('assets', 'Assets', ASSETS, assets),
    table('users', 'Users', USERS, users),
    table('markets', 'Markets', MARKETS, markets.filter(isWanted)),
    table('orders', 'Resting orders', ORDERS, orders),
    table('orderGroups', 'Order groups', ORDER_GROUPS, groups),
    table('positions', 'Positions', POSITIONS, positions),
    table('deposits', 'Vault deposits', DEPOSITS, deposits),
  ];
  return ({ sequence: lastSequence, hash: bytes }) => {
    const hash = bytes.toString('hex');
    const batch = { lastSequence, hash };
    return {
      fields: { sequence, atMs, time, digest, batch, funds: fundsObject(funds) },
      head:
        `The exchange at sequence ${sequence}, ${time}, digest ${digest}\n` +
        `It is in the batch that ends at ${lastSequence}, with the SHA-256 ${hash}\n\n`,
      tables,
    };
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
