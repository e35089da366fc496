/** `state`: the whole exchange after a command or at a time. */
import type { Engine } from '../../../../engine/engine.js';
import { marketIdNumber, statusName } from '../../../../engine/interface/notation.js';
import type { FundsView } from '../../../../engine/interface/views.js';
import { GENESIS, type JournalPosition } from '../../../journal/format.js';
import { ExitStatus } from '../../program.js';
import { checkPoint, type Point, UsageError, unknownUser } from '../input/arguments.js';
import { type Invocation, replayJournal, type Visitor } from '../input/replay-journal.js';
import { type Names, viewObject } from '../output/fields.js';
import { dollars, type JsonObject, timeText } from '../output/units.js';

interface StateRequest extends Invocation {
  /** The user to show; null for all users and markets. */
  userId: number | null;
  /** A market id such as btc-15m-1763700300. */
  market: string | null;
  /** The point up to which to replay; null for the journal's end. */
  at: Point | null;
  limit: number;
}

/** Takes the report at the requested point, then continues until its batch is verified. */
class StateVisitor implements Visitor {
  private report: JsonObject | null = null;
  /** Set if the requested user or market does not exist at the point. */
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

function stateOf(
  engine: Engine,
  { userId, market }: Pick<StateRequest, 'userId' | 'market'>,
): JsonObject {
  const { sequence, nowMs: atMs, userCount, assetCount } = engine;
  const marketId = market === null ? null : marketIdNumber(engine, market);
  const isWanted = (of: { marketId: number }) => marketId === null || of.marketId === marketId;
  const userIds = userId === null ? Array.from({ length: userCount }, (_, i) => i + 1) : [userId];
  const shown = (views: readonly Parameters<typeof viewObject>[0][]) =>
    views.map((view) => viewObject(view, engine));
  const assets = Array.from({ length: assetCount }, (_, asset) => ({
    asset,
    priceMicros: engine.assetPriceMicros(asset),
  }));
  const markets = engine.marketIds().map((id) => {
    const view = engine.market(id)!;
    return { ...view, status: statusName(view.status), ...engine.marketFunds(id)! };
  });
  const positions = userIds.flatMap((id) =>
    engine.positions(id).map((position) => ({ userId: id, ...position })),
  );
  return {
    ...{ sequence, atMs, time: timeText(atMs), digest: engine.digest() },
    funds: fundsObject(engine.funds(), engine),
    assets: shown(assets),
    users: shown(userIds.map((id) => engine.account(id)!)),
    markets: shown(markets.filter(isWanted)),
    orders: shown(userIds.flatMap((id) => engine.orders(id)).filter(isWanted)),
    orderGroups: shown(userIds.flatMap((id) => engine.orderGroups(id))),
    positions: shown(positions.filter(isWanted)),
    deposits: shown(userIds.flatMap((id) => engine.vaultDeposits(id))),
  };
}

/** The money by pot; `sum` covers all pots, and equals `netDeposits`. */
export function fundsObject(funds: FundsView, names: Names): JsonObject {
  const { netDepositsMicros, ...pots } = funds;
  const sumMicros = Object.values(pots).reduce((total, micros) => total + micros, 0);
  return { ...viewObject(funds, names), sum: dollars(sumMicros) };
}
