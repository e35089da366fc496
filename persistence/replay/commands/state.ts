/** `state`: the whole exchange as it was after a command, or at a time. */

import type { Engine } from '../../../engine/engine.js';
import type { Command } from '../../../engine/interface/commands.js';
import { checkPoint, type Point, unknownUser } from '../arguments.js';
import { ExitStatus, UsageError } from '../findings.js';
import type { Output } from '../output/output.js';
import { stateViewObject, stateViewText } from '../output/state-forms.js';
import { markNotice, type Progress, replayJournal, type Visitor } from '../replay-journal.js';
import { type StateView, type StateViewFilter, stateViewOf } from '../state-view.js';

export interface StateRequest extends StateViewFilter {
  folder: string;
  /** null: the end. */
  at: Point | null;
  /** Rows of each table. */
  limit: number;
  json: boolean;
  output: Output;
  progress: Progress;
}

/** Goes to the place that was asked for, takes the picture there, and lets the batch that it is in prove itself. */
class Photographer implements Visitor {
  picture: StateView | null = null;
  private readonly targetSequence: number;

  constructor(
    private readonly engine: Engine,
    private readonly request: StateRequest,
  ) {
    const { at } = request;
    this.targetSequence = at !== null && 'sequence' in at ? at.sequence : Number.POSITIVE_INFINITY;
    if (this.targetSequence === 0) this.take();
  }

  /** Before a command: whether it is the first one that is too late. */
  applying(_command: Command, atMs: number): void {
    const { at } = this.request;
    if (this.picture === null && at !== null && 'atMs' in at && atMs > at.atMs) this.take();
  }

  applied(): void {
    if (this.picture === null && this.engine.sequence === this.targetSequence) this.take();
  }

  proven(): boolean {
    return this.picture === null;
  }

  take(): void {
    this.picture = stateViewOf(this.engine, this.request);
  }
}

export async function state(request: StateRequest): Promise<ExitStatus> {
  const { at, output } = request;
  let photographer: Photographer | undefined;
  const replayed = await replayJournal({
    folder: request.folder,
    progress: request.progress,
    visit: (engine, endSequence) => {
      checkPoint(at, endSequence);
      photographer = new Photographer(engine, request);
      return photographer;
    },
  });
  const { engine } = replayed;
  if (photographer!.picture === null) photographer!.take();
  const picture = photographer!.picture!;
  checkRequest(request, picture);
  const notice = replayed.atEnd ? markNotice(replayed) : null;
  if (notice !== null) output.notice(notice);
  if (request.json) output.json(stateViewObject(picture, engine, request.limit));
  else output.text(stateViewText(picture, engine, request.limit));
  return ExitStatus.GOOD;
}

function checkRequest({ userId, market }: StateRequest, picture: StateView): void {
  if (userId !== null && userId > picture.userCount)
    throw unknownUser(userId, picture.userCount, picture.sequence);
  if (market !== null && !picture.hasMarket)
    throw new UsageError(
      `there is no market ${market} at sequence ${picture.sequence}: it has not opened yet, or all of it has been paid out`,
    );
}
