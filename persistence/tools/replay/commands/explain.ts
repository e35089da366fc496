/**
 * `explain`: every change of one account's money, with the command that caused it. After each
 * command the changes must add up to the balance.
 */
import type { Engine } from '../../../../engine/engine.js';
import { kindAt, readCommand, timeOf } from '../../../../engine/interface/command-record.js';
import { type Command, CommandKind } from '../../../../engine/interface/commands.js';
import { decodeEvents, type EventRecord } from '../../../../engine/interface/events.js';
import type { RecordBuffer } from '../../../../engine/interface/records.js';
import {
  type AccountChange,
  CAUSES,
  type Cause,
  changesOf,
} from '../../../history/account/changes.js';
import { ExitStatus } from '../../program.js';
import { unknownUser } from '../input/arguments.js';
import { type Invocation, replayJournal, type Visitor } from '../input/replay-journal.js';
import { commandFields, eventObject } from '../output/fields.js';
import { dollars } from '../output/units.js';

interface ExplainRequest extends Invocation {
  userId: number;
}

interface Sum {
  count: number;
  availableMicros: number;
  heldMicros: number;
}

/** An account's balance from its changes alone. Commands that do not touch it may be skipped. */
class ExplainedAccount implements Visitor {
  private readonly byCause = new Map<Cause, Sum>();
  private readonly sum: Sum = { count: 0, availableMicros: 0, heldMicros: 0 };
  private mismatch: string | null = null;

  constructor(
    private readonly engine: Engine,
    private readonly request: ExplainRequest,
  ) {}

  applied(records: RecordBuffer, at: number): void {
    const atMs = timeOf(records, at);
    const command = () => readCommand(records, at);
    if (kindAt(records, at) === CommandKind.recordUpgrade)
      this.writeTurn('upgrade', command(), atMs);
    for (const event of decodeEvents(this.engine.events)) {
      if (event.type === 'rulesChanged') this.writeTurn('rules', command(), atMs);
      for (const change of changesOf(event)) {
        const isMoney = change.availableMicros !== 0 || change.heldMicros !== 0;
        if (isMoney && change.userId === this.request.userId)
          this.write(change, event, command(), atMs);
      }
    }
    this.compare();
  }

  async proven(): Promise<boolean> {
    // The batch is proven, so this program is at fault.
    if (this.mismatch !== null) throw new Error(this.mismatch);
    await this.request.output.release();
    return true;
  }

  /**
   * Writes that the rules, or the journal's format, differ from this command on for all accounts.
   */
  private writeTurn(type: 'rules' | 'upgrade', command: Command, atMs: number): void {
    const { engine, request } = this;
    if (engine.account(request.userId) !== null)
      request.output.emit(type, commandFields(engine, command, atMs));
  }

  private write(change: AccountChange, event: EventRecord, command: Command, atMs: number): void {
    const { engine, request, sum } = this;
    addTo(sum, change);
    const cause = this.byCause.get(change.cause) ?? { count: 0, availableMicros: 0, heldMicros: 0 };
    this.byCause.set(change.cause, addTo(cause, change));
    request.output.emit('change', {
      ...commandFields(engine, command, atMs),
      cause: change.cause,
      ...moneyOf(change),
      availableAfter: dollars(sum.availableMicros),
      heldAfter: dollars(sum.heldMicros),
      event: eventObject(event, engine),
    });
  }

  conclude(): ExitStatus {
    const { engine, sum, byCause } = this;
    const { output, userId } = this.request;
    const { sequence, nowMs: atMs } = engine;
    const account = engine.account(userId);
    if (account === null) throw unknownUser(userId, engine.userCount, sequence);
    for (const cause of CAUSES) {
      const of = byCause.get(cause);
      if (of !== undefined) output.emit('cause', { cause, count: of.count, ...moneyOf(of) });
    }
    const { username, partner } = account;
    output.emit('summary', {
      ...{ userId: `u${userId}`, username, partner, sequence, atMs, changes: sum.count },
      // The changes add up to the balance: see compare().
      ...moneyOf(account),
      staked: dollars(stakedBy(userId, engine)),
    });
    return ExitStatus.GOOD;
  }

  /** The sum of the changes must equal the engine's balance, which is computed independently. */
  private compare(): void {
    const account = this.engine.account(this.request.userId);
    const { availableMicros, heldMicros } = account ?? { availableMicros: 0, heldMicros: 0 };
    const { sum } = this;
    if (sum.availableMicros === availableMicros && sum.heldMicros === heldMicros) return;
    this.mismatch ??=
      `at sequence ${this.engine.sequence} the changes of u${this.request.userId} add up to ${sum.availableMicros} micro-dollars available and ` +
      `${sum.heldMicros} held, but the balance is ${availableMicros} and ${heldMicros}`;
  }
}

function moneyOf({ availableMicros, heldMicros }: Omit<Sum, 'count'>) {
  return { available: dollars(availableMicros), held: dollars(heldMicros) };
}

function addTo(sum: Sum, change: AccountChange): Sum {
  sum.count++;
  sum.availableMicros += change.availableMicros;
  sum.heldMicros += change.heldMicros;
  return sum;
}

export async function explain(request: ExplainRequest): Promise<ExitStatus> {
  const { folder, progress, output } = request;
  const visit = (engine: Engine) => new ExplainedAccount(engine, request);
  const { visitor } = await replayJournal({ folder, progress, output, visit });
  return visitor.conclude();
}

function stakedBy(userId: number, engine: Engine): number {
  return engine.vaultDeposits(userId).reduce((sum, { amountMicros }) => sum + amountMicros, 0);
}
