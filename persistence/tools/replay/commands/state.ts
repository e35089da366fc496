/** `state`: the whole exchange after a command or at a time. */
import type { Engine } from '../../../../engine/engine.js';
import { GENESIS, type JournalPosition } from '../../../journal/format.js';
import { checkPoint, type Point, UsageError, unknownUser } from '../input/arguments.js';
import {
  ExitStatus,
  type Invocation,
  noticeUnmarked,
  replayJournal,
  type Visitor,
} from '../input/replay-journal.js';
import { type StateView, type StateViewFilter, stateViewOf } from '../input/state-view.js';
import { stateReport } from '../output/state.js';

interface StateRequest extends StateViewFilter, Invocation {
  /** null: the end. */
  at: Point | null;
  limit: number;
}

/** Copies the state at the requested point, and reads on until its batch is verified. */
export class StateVisitor implements Visitor {
  view: StateView | null = null;
  /** Where its batch ends. */
  batch: JournalPosition = GENESIS;
  private readonly targetSequence: number;

  constructor(
    private readonly engine: Engine,
    private readonly request: StateRequest,
  ) {
    const { at } = request;
    this.targetSequence = at !== null && 'sequence' in at ? at.sequence : Number.POSITIVE_INFINITY;
    if (this.targetSequence === 0) this.takeView();
  }

  applying(atMs: number): void {
    const { at } = this.request;
    if (this.view === null && at !== null && 'atMs' in at && atMs > at.atMs) this.takeView();
  }

  applied(): void {
    if (this.view === null && this.engine.sequence === this.targetSequence) this.takeView();
  }

  proven(position: JournalPosition): boolean {
    this.batch = position;
    return this.view === null;
  }

  takeView(): StateView {
    this.view = stateViewOf(this.engine, this.request);
    return this.view;
  }
}

export async function state(request: StateRequest): Promise<ExitStatus> {
  const { folder, progress, at, output } = request;
  const visit = (engine: Engine, endSequence: number | null) => {
    checkPoint(at, endSequence);
    return new StateVisitor(engine, request);
  };
  const replayed = await replayJournal({ folder, progress, visit });
  const { engine, visitor } = replayed;
  const view = visitor.view ?? visitor.takeView();
  checkRequest(request, view);
  if (replayed.atEnd) noticeUnmarked(replayed, output);
  const { json, limit } = request;
  output.report(stateReport(view, visitor.batch, engine, json), json, limit);
  return ExitStatus.GOOD;
}

function checkRequest({ userId, market }: StateRequest, view: StateView): void {
  if (userId !== null && userId > view.userCount)
    throw unknownUser(userId, view.userCount, view.sequence);
  if (market !== null && !view.hasMarket)
    throw new UsageError(
      `there is no market ${market} at sequence ${view.sequence}: it has not opened yet or is fully paid out`,
    );
}
