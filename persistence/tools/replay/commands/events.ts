/** `events`: the commands of a range of the journal, with their results and events. */
import type { Engine } from '../../../../engine/engine.js';
import { readCommand, timeOf } from '../../../../engine/interface/command-record.js';
import type { Command } from '../../../../engine/interface/commands.js';
import { decodeEvents, type EventRecord } from '../../../../engine/interface/events.js';
import { marketIdNumber } from '../../../../engine/interface/notation.js';
import type { RecordBuffer } from '../../../../engine/interface/records.js';
import { ExitStatus } from '../../program.js';
import { checkPoint, type Point, UsageError, unknownUser } from '../input/arguments.js';
import { type Invocation, replayJournal, type Visitor } from '../input/replay-journal.js';
import { answerOf, commandFields, eventObject } from '../output/fields.js';

interface EventsRequest extends Invocation {
  /** The first and the last point, both included. */
  from: Point;
  to: Point | null;
  userId: number | null;
  market: string | null;
}

class EventsVisitor implements Visitor {
  /** The market's id; 0 until its asset is listed. */
  private marketId = 0;
  private isMarketKnown = false;
  private isPast = false;

  constructor(
    private readonly engine: Engine,
    private readonly request: EventsRequest,
  ) {}

  applied(records: RecordBuffer, at: number): void {
    const { engine, request } = this;
    const { from, to } = request;
    const atMs = timeOf(records, at);
    this.findMarket();
    if (this.isPast || compare(engine.sequence, atMs, from) < 0) return;
    this.isPast = to !== null && compare(engine.sequence, atMs, to) > 0;
    if (this.isPast) return;
    const command = readCommand(records, at);
    const events = decodeEvents(engine.events).filter((event) => this.isWantedEvent(event));
    if (events.length === 0 && !this.isWantedCommand(command)) return;
    request.output.emit('command', {
      ...commandFields(engine, command, atMs),
      answer: answerOf(engine, command),
      events: events.map((event) => eventObject(event, engine)),
    });
  }

  async proven(): Promise<boolean> {
    const { request, engine } = this;
    await request.output.release();
    const isLast =
      request.to !== null && 'sequence' in request.to && engine.sequence >= request.to.sequence;
    return !this.isPast && !isLast;
  }

  checkRequest(): void {
    const { engine, request } = this;
    if (request.userId !== null && engine.account(request.userId) === null)
      throw unknownUser(request.userId, engine.userCount, engine.sequence);
    if (request.market !== null && !this.isMarketKnown)
      throw new UsageError(`no market ${request.market} had opened by sequence ${engine.sequence}`);
  }

  private findMarket(): void {
    const { engine, request } = this;
    if (request.market === null || this.isMarketKnown) return;
    if (this.marketId === 0) this.marketId = marketIdNumber(engine, request.market);
    this.isMarketKnown = engine.hasMarket(this.marketId);
  }

  private isWantedCommand(command: Command): boolean {
    const { userId, market } = this.request;
    if (userId !== null && !isCommandOf(command, userId)) return false;
    // A command that pauses an asset also names market 0.
    return market === null || (this.marketId !== 0 && isCommandIn(command, this.marketId));
  }

  private isWantedEvent(event: EventRecord): boolean {
    const { userId, market } = this.request;
    if (userId !== null && !isEventOf(event, userId)) return false;
    return market === null || isEventIn(event, this.marketId);
  }
}

/** Negative if the command is before the point, positive if after it. */
function compare(sequence: number, atMs: number, point: Point): number {
  return 'sequence' in point ? sequence - point.sequence : atMs - point.atMs;
}

export async function events(request: EventsRequest): Promise<ExitStatus> {
  const { folder, progress, output, from, to } = request;
  checkOrder(from, to);
  const visit = (engine: Engine, endSequence: number | null) => {
    checkPoint(from, endSequence);
    checkPoint(to, endSequence);
    return new EventsVisitor(engine, request);
  };
  const { visitor } = await replayJournal({ folder, progress, output, visit });
  visitor.checkRequest();
  return ExitStatus.GOOD;
}

function checkOrder(from: Point, to: Point | null): void {
  if (to === null) return;
  const isReversed =
    'sequence' in from && 'sequence' in to
      ? from.sequence > to.sequence
      : 'atMs' in from && 'atMs' in to && from.atMs > to.atMs;
  if (isReversed) throw new UsageError('--from is after --to');
}

function isCommandOf(command: Command, userId: number): boolean {
  return 'userId' in command && command.userId === userId;
}

function isCommandIn(command: Command, marketId: number): boolean {
  if (command.kind === 'batch')
    return command.operations.some((operation) => isCommandIn(operation, marketId));
  return 'marketId' in command && command.marketId === marketId;
}

const USERS = [
  'userId',
  'takerId',
  'makerId',
  'referrerId',
  'parentId',
  'fromUserId',
  'toUserId',
] as const;

function isEventOf(event: EventRecord, userId: number): boolean {
  const fields: Readonly<Record<string, unknown>> = event;
  return USERS.some((name) => fields[name] === userId);
}

function isEventIn(event: EventRecord, marketId: number): boolean {
  return 'marketId' in event && event.marketId === marketId;
}
