/** `state`: the whole exchange after a command or at a time. */
import type { Engine } from '../../../../engine/engine.js';
import { marketIdNumber, statusName } from '../../../../engine/interface/notation.js';
import { GENESIS, type JournalPosition } from '../../../journal/format.js';
import { ExitStatus } from '../../program.js';
import { checkPoint, type Point, UsageError, unknownUser } from '../input/arguments.js';
import { type Invocation, replayJournal, type Visitor } from '../input/replay-journal.js';
import { viewObject } from '../output/fields.js';
import type { Output } from '../output/output.js';
import { dollars, type JsonObject } from '../output/units.js';

interface StateRequest extends Invocation {
  /** The user to show; null for all users and markets. */
  userId: number | null;
  /** A market id such as btc-15m-1763700300. */
  market: string | null;
  /** The point up to which to replay; null for the journal's end. */
  at: Point | null;
}

/** Takes the state at the requested point, then continues until its batch is verified. */
class StateVisitor implements Visitor {
  /** The last object: where the state was taken. */
  private end: JsonObject | null = null;
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
    return this.end === null;
  }

  conclude(): void {
    this.take();
    if (this.problem !== null) throw this.problem;
    const { sequence: batchSequence, hash } = this.batch;
    const batch = { batchSequence, batchHash: hash.toString('hex') };
    this.request.output.emit('state', { ...this.end, ...batch });
  }

  private take(): void {
    if (this.end !== null) return;
    const { engine, request } = this;
    const { sequence, nowMs: atMs } = engine;
    this.end = { sequence, atMs, digest: engine.digest() };
    this.problem = problemWith(request, engine);
    if (this.problem === null) emitState(engine, request);
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

function problemWith({ userId, market }: StateRequest, engine: Engine): UsageError | null {
  const { sequence, userCount } = engine;
  if (userId !== null && userId > userCount) return unknownUser(userId, userCount, sequence);
  if (market === null || engine.hasMarket(marketIdNumber(engine, market))) return null;
  return new UsageError(
    `there is no market ${market} at sequence ${sequence}: it has not opened yet or is fully paid out`,
  );
}

function emitState(engine: Engine, { userId, market, output }: StateRequest): void {
  const { userCount, assetCount } = engine;
  const marketId = market === null ? null : marketIdNumber(engine, market);
  const isWanted = (of: { marketId: number }) => marketId === null || of.marketId === marketId;
  const userIds = userId === null ? Array.from({ length: userCount }, (_, i) => i + 1) : [userId];
  const emit = (type: string, views: readonly object[]) => {
    for (const view of views) output.emit(type, viewObject(view, engine));
  };
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
  emit('asset', assets);
  emit(
    'user',
    userIds.map((id) => engine.account(id)!),
  );
  emit('market', markets.filter(isWanted));
  emit('order', userIds.flatMap((id) => engine.orders(id)).filter(isWanted));
  emit(
    'orderGroup',
    userIds.flatMap((id) => engine.orderGroups(id)),
  );
  emit('position', positions.filter(isWanted));
  emit(
    'deposit',
    userIds.flatMap((id) => engine.vaultDeposits(id)),
  );
  emitFunds(engine, output);
}

/** The money by pot; `sum` covers all pots, and equals `netDeposits`. */
export function emitFunds(engine: Engine, output: Output): void {
  const { netDepositsMicros, ...pots } = engine.funds();
  const sumMicros = Object.values(pots).reduce((total, micros) => total + micros, 0);
  const shown = viewObject({ ...pots, netDepositsMicros }, engine);
  output.emit('funds', { ...shown, sum: dollars(sumMicros) });
}
