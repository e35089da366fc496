/** `state`: the whole exchange after a command or at a time. */
import type { Engine } from '../../../../engine/engine.js';
import {
  marketIdNumber,
  outcomeName,
  resolutionName,
  sideName,
  statusName,
} from '../../../../engine/interface/notation.js';
import type { FundsView } from '../../../../engine/interface/views.js';
import { GENESIS, type JournalPosition } from '../../../journal/format.js';
import { ExitStatus } from '../../program.js';
import { checkPoint, type Point, UsageError, unknownUser } from '../input/arguments.js';
import { type Invocation, replayJournal, type Visitor } from '../input/replay-journal.js';
import { marketName, symbolOf } from '../output/fields.js';
import { dollars, type JsonObject, price, shares, timeText } from '../output/units.js';

interface StateRequest extends Invocation {
  /** null: all users, all markets. */
  userId: number | null;
  /** A market id such as btc-15m-1763700300. */
  market: string | null;
  /** null: the end. */
  at: Point | null;
  limit: number;
}

/** Takes the report at the requested point, and reads on until its batch is verified. */
class StateVisitor implements Visitor {
  private report: JsonObject | null = null;
  /** Whether the user or the market of the request does not exist at the point. */
  private problem: UsageError | null = null;
  private batch = GENESIS;
  private readonly targetSequence: number;

  constructor(
    private readonly engine: Engine,
    private readonly request: StateRequest,
  ) {
    const { at } = request;
    this.targetSequence = at !== null && 'sequence' in at ? at.sequence : Number.POSITIVE_INFINITY;
    if (this.targetSequence === 0) this.take();
  }

  applying(atMs: number): void {
    const { at } = this.request;
    if (at !== null && 'atMs' in at && atMs > at.atMs) this.take();
  }

  applied(): void {
    if (this.engine.sequence === this.targetSequence) this.take();
  }

  proven(position: JournalPosition): boolean {
    this.batch = position;
    return this.report === null;
  }

  /** @throws UsageError if the user or the market does not exist. */
  conclude(): void {
    const { json, limit, output } = this.request;
    const report = this.take();
    if (this.problem !== null) throw this.problem;
    const { sequence: lastSequence, hash } = this.batch;
    const batch = { lastSequence, hash: hash.toString('hex') };
    output.report({ ...report, batch }, json, limit);
  }

  private take(): JsonObject {
    if (this.report !== null) return this.report;
    const { userId, market } = this.request;
    const { sequence, userCount } = this.engine;
    if (userId !== null && userId > userCount)
      this.problem = unknownUser(userId, userCount, sequence);
    else if (market !== null && !this.engine.hasMarket(marketIdNumber(this.engine, market)))
      this.problem = new UsageError(
        `there is no market ${market} at sequence ${sequence}: it has not opened yet or is fully paid out`,
      );
    this.report = this.problem === null ? stateOf(this.engine, this.request) : {};
    return this.report;
  }
}

export async function state(request: StateRequest): Promise<ExitStatus> {
  const { folder, progress, at, output } = request;
  const visit = (engine: Engine, endSequence: number | null) => {
    checkPoint(at, endSequence);
    return new StateVisitor(engine, request);
  };
  const { visitor } = await replayJournal({ folder, progress, output, visit });
  visitor.conclude();
  return ExitStatus.GOOD;
}

/** @param filter a user and a market that exist */
function stateOf(
  engine: Engine,
  { userId, market }: Pick<StateRequest, 'userId' | 'market'>,
): JsonObject {
  const { sequence, nowMs: atMs, userCount, assetCount } = engine;
  const marketId = market === null ? null : marketIdNumber(engine, market);
  const isWanted = (of: { marketId: number }) => marketId === null || of.marketId === marketId;
  const userIds = userId === null ? Array.from({ length: userCount }, (_, i) => i + 1) : [userId];
  const assets = Array.from({ length: assetCount }, (_, asset) => ({
    asset: symbolOf(asset, engine),
    price: dollars(engine.assetPriceMicros(asset)),
  }));
  return {
    ...{ sequence, atMs, time: timeText(atMs), digest: engine.digest() },
    funds: fundsObject(engine.funds()),
    assets,
    users: userIds.map((id) => userObject(engine, id)),
    markets: engine
      .marketIds()
      .filter((id) => isWanted({ marketId: id }))
      .map((id) => marketObject(engine, id)),
    orders: userIds.flatMap((id) => ordersOf(engine, id, isWanted)),
    orderGroups: userIds.flatMap((id) => orderGroupsOf(engine, id)),
    positions: userIds.flatMap((id) => positionsOf(engine, id, isWanted)),
    deposits: userIds.flatMap((id) => depositsOf(engine, id)),
  };
}

/** Where all money is; `sum` is of the parts before it, and equals `netDeposits`. */
export function fundsObject(funds: FundsView): JsonObject {
  const parts = {
    available: funds.availableMicros,
    held: funds.heldMicros,
    collateral: funds.collateralMicros,
    feeEscrow: funds.feeEscrowMicros,
    staked: funds.stakedMicros,
    yieldDue: funds.yieldDueMicros,
    treasury: funds.treasuryMicros,
  };
  const sum = Object.values(parts).reduce((total, micros) => total + micros, 0);
  const all = { ...parts, sum, netDeposits: funds.netDepositsMicros };
  return Object.fromEntries(Object.entries(all).map(([name, micros]) => [name, dollars(micros)]));
}

function userObject(engine: Engine, id: number): JsonObject {
  const user = engine.account(id)!;
  return {
    userId: `u${id}`,
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
  };
}

function marketObject(engine: Engine, id: number): JsonObject {
  const market = { ...engine.market(id)!, ...engine.marketFunds(id)! };
  return {
    marketId: marketName(id, engine),
    status: statusName(market.status),
    resolution: resolutionName(market.resolution),
    startsAtMs: market.startsAtMs,
    endsAtMs: market.endsAtMs,
    startPrice: dollars(market.startPriceMicros),
    endPrice: dollars(market.endPriceMicros),
    volume: dollars(market.volumeMicros),
    openInterest: shares(market.openInterestLots),
    collateral: dollars(market.collateralMicros),
    feeEscrow: dollars(market.feeEscrowMicros),
    bestBid: price(market.bestBidTicks),
    bestAsk: price(market.bestAskTicks),
    lastTrade: price(market.lastTradeTicks),
  };
}

type IsWanted = (of: { marketId: number }) => boolean;

function ordersOf(engine: Engine, userId: number, isWanted: IsWanted): JsonObject[] {
  return engine
    .orders(userId)
    .filter(isWanted)
    .map((order) => ({
      orderId: `o${order.orderId}`,
      marketId: marketName(order.marketId, engine),
      userId: `u${userId}`,
      side: sideName(order.side),
      outcome: outcomeName(order.outcome),
      price: price(order.priceTicks),
      shares: shares(order.sizeLots),
      groupId: order.groupId === 0 ? null : `g${order.groupId}`,
      placedAtMs: order.placedAtMs,
    }));
}

function orderGroupsOf(engine: Engine, userId: number): JsonObject[] {
  return engine.orderGroups(userId).map((group) => ({
    groupId: `g${group.groupId}`,
    userId: `u${userId}`,
    maxFilledShares: shares(group.maxFilledLots),
    windowMs: group.windowMs,
    filledShares: shares(group.filledLots),
    windowEndsAtMs: group.windowEndsAtMs,
    tripped: group.tripped,
    orders: group.orderCount,
  }));
}

function positionsOf(engine: Engine, userId: number, isWanted: IsWanted): JsonObject[] {
  return engine
    .positions(userId)
    .filter(isWanted)
    .map((position) => ({
      userId: `u${userId}`,
      marketId: marketName(position.marketId, engine),
      UP: shares(position.upLots),
      DOWN: shares(position.downLots),
      heldUP: shares(position.upHeldLots),
      heldDOWN: shares(position.downHeldLots),
      costUP: dollars(position.upCostMicros),
      costDOWN: dollars(position.downCostMicros),
    }));
}

function depositsOf(engine: Engine, userId: number): JsonObject[] {
  return engine.vaultDeposits(userId).map((deposit) => ({
    depositId: `d${deposit.depositId}`,
    userId: `u${userId}`,
    amount: dollars(deposit.amountMicros),
    accruedYield: dollars(deposit.accruedYieldMicros),
    claimedYield: dollars(deposit.claimedYieldMicros),
    stakedAtMs: deposit.stakedAtMs,
    earnsFromMs: deposit.earnsFromMs,
  }));
}
