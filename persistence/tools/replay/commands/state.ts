/** `state`: the whole exchange after a command or at a time. */
import type { Engine } from '../../../../engine/engine.js';
import { marketIdNumber } from '../../../../engine/interface/notation.js';
import { GENESIS, type JournalPosition } from '../../../journal/format.js';
import { ExitStatus } from '../../program.js';
import { checkPoint, type Point, UsageError, unknownUser } from '../input/arguments.js';
import { type Invocation, replayJournal, type Visitor } from '../input/replay-journal.js';
import type { Report } from '../output/report.js';
import { type StateFilter, stateReport } from '../output/state.js';

interface StateRequest extends StateFilter, Invocation {
  /** null: the end. */
  at: Point | null;
  limit: number;
}

/** Takes the report at the requested point, and reads on until its batch is verified. */
class StateVisitor implements Visitor {
  private report: ((batch: JournalPosition) => Report) | null = null;
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
    output.report(report(this.batch), json, limit);
  }

  private take(): (batch: JournalPosition) => Report {
    if (this.report !== null) return this.report;
    const { userId, market } = this.request;
    const { sequence, userCount } = this.engine;
    if (userId !== null && userId > userCount)
      this.problem = unknownUser(userId, userCount, sequence);
    else if (market !== null && !this.engine.hasMarket(marketIdNumber(this.engine, market)))
      this.problem = new UsageError(
        `there is no market ${market} at sequence ${sequence}: it has not opened yet or is fully paid out`,
      );
    this.report = stateReport(this.engine, this.request, this.request.json);
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
