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
import {
  commandObject,
  commandText,
  eventObject,
  eventText,
  senderText,
} from '../output/fields.js';
import { type Columns, type Report, tableOf } from '../output/report.js';
import {
  COUNT,
  changeText,
  DOLLARS,
  dollars,
  dollarsText,
  timeText,
  type Unit,
} from '../output/units.js';

interface ExplainRequest extends Invocation {
  userId: number;
}

interface Sum {
  count: number;
  availableMicros: number;
  heldMicros: number;
}

/** An account's balance from its changes alone. Commands that do not touch it may be omitted. */
export class ExplainedAccount implements Visitor {
  private readonly byCause = new Map<Cause, Sum>();
  private readonly sum: Sum = { count: 0, availableMicros: 0, heldMicros: 0 };
  /** What did not add up first; null: nothing. */
  private mismatch: string | null = null;

  constructor(
    private readonly engine: Engine,
    private readonly request: Pick<ExplainRequest, 'userId' | 'json' | 'output'>,
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
    // The batch is whole, so the fault is this program's.
    if (this.mismatch !== null) throw new Error(this.mismatch);
    await this.request.output.release();
    return true;
  }

  /** The rules, or the format of the journal, change for all accounts from here on. */
  private writeTurn(type: 'rules' | 'upgrade', command: Command, atMs: number): void {
    const { engine, request } = this;
    if (engine.account(request.userId) === null) return;
    const sender = senderText(command);
    if (request.json) {
      const { sequence } = engine;
      request.output.json({
        type,
        sequence,
        atMs,
        sender,
        command: commandObject(command, engine),
      });
      return;
    }
    const texts = [`${engine.sequence}`, timeText(atMs), type, '', '', '', ''];
    request.output.line(columns([...texts, `${commandText(command, engine)} by ${sender}`]));
  }

  private write(change: AccountChange, event: EventRecord, command: Command, atMs: number): void {
    const { engine, request, sum } = this;
    const { output } = request;
    addTo(sum, change);
    const cause = this.byCause.get(change.cause) ?? { count: 0, availableMicros: 0, heldMicros: 0 };
    this.byCause.set(change.cause, addTo(cause, change));
    if (request.json) {
      output.json({
        type: 'change',
        sequence: engine.sequence,
        atMs,
        cause: change.cause,
        available: dollars(change.availableMicros),
        held: dollars(change.heldMicros),
        availableAfter: dollars(sum.availableMicros),
        heldAfter: dollars(sum.heldMicros),
        sender: senderText(command),
        command: commandObject(command, engine),
        event: eventObject(event, engine),
      });
      return;
    }
    if (sum.count === 1) output.line(HEADS);
    output.line(
      columns([
        `${engine.sequence}`,
        timeText(atMs),
        change.cause,
        changeText(change.availableMicros),
        changeText(change.heldMicros),
        dollarsText(sum.availableMicros),
        dollarsText(sum.heldMicros),
        `${eventText(event, engine)} <- ${commandText(command, engine)} by ${senderText(command)}`,
      ]),
    );
  }

  /** Writes the summary at the end of the journal. */
  conclude(): ExitStatus {
    const { engine } = this;
    const { output, userId, json } = this.request;
    if (engine.account(userId) === null)
      throw unknownUser(userId, engine.userCount, engine.sequence);
    output.report(this.summary(), json);
    return ExitStatus.GOOD;
  }

  /** The sum of the changes must be the engine's balance, which does not depend on them. */
  private compare(): void {
    const account = this.engine.account(this.request.userId);
    const { availableMicros, heldMicros } = account ?? { availableMicros: 0, heldMicros: 0 };
    const { sum } = this;
    if (sum.availableMicros === availableMicros && sum.heldMicros === heldMicros) return;
    this.mismatch ??=
      `at sequence ${this.engine.sequence} the changes of u${this.request.userId} add up to ${sum.availableMicros} micro-dollars available and ` +
      `${sum.heldMicros} held, but the balance is ${availableMicros} and ${heldMicros}`;
  }

  private summary(): Report {
    const { sum, engine } = this;
    const { userId } = this.request;
    const { sequence, nowMs: atMs } = engine;
    const { availableMicros, heldMicros, username, partner } = engine.account(userId)!;
    const staked = stakedBy(userId, engine);
    const [available, held] = [dollarsText(sum.availableMicros), dollarsText(sum.heldMicros)];
    const ofPartner = partner === null ? '' : `, of partner ${partner}`;
    const rows = [...this.byCause].sort(([a], [b]) => CAUSES.indexOf(a) - CAUSES.indexOf(b));
    const byCause = tableOf({
      name: 'byCause',
      title: `\nu${userId} (${username}${ofPartner}) at sequence ${sequence}, ${timeText(atMs)}`,
      columns: COLUMNS,
      rows,
      names: engine,
      totals: ['sum', `${sum.count}`, available, held],
    });
    return {
      fields: {
        type: 'summary',
        ...{ userId: `u${userId}`, username, partner, sequence, atMs },
        changes: sum.count,
        sum: { available: dollars(sum.availableMicros), held: dollars(sum.heldMicros) },
        balance: { available: dollars(availableMicros), held: dollars(heldMicros) },
        staked: dollars(staked),
        addsUp: sum.availableMicros === availableMicros && sum.heldMicros === heldMicros,
      },
      tables: [byCause],
      foot:
        `${staked > 0 ? `Also in the vault: ${dollarsText(staked)} and its yield.\n` : ''}` +
        `The changes add up to the balance: ${available} available, ${held} held.\n`,
    };
  }
}

const CHANGE: Unit = { ...DOLLARS, text: changeText };
const COLUMNS: Columns<readonly [Cause, Sum]> = [
  ['cause', 'cause', ([cause]) => cause],
  ['count', 'changes', ([, { count }]) => count, COUNT],
  ['available', 'available', ([, { availableMicros }]) => availableMicros, CHANGE],
  ['held', 'held', ([, { heldMicros }]) => heldMicros, CHANGE],
];

function addTo(sum: Sum, change: AccountChange): Sum {
  sum.count++;
  sum.availableMicros += change.availableMicros;
  sum.heldMicros += change.heldMicros;
  return sum;
}

const WIDTHS = [-10, 24, 16, -20, -20, -20, -20, 0];
const HEADS = columns([
  'sequence',
  'time',
  'cause',
  'available change',
  'held change',
  'available',
  'held',
  'event <- command',
]);

/** A negative width aligns to the right. */
function columns(texts: readonly string[]): string {
  return texts
    .map((text, i) => (WIDTHS[i]! < 0 ? text.padStart(-WIDTHS[i]!) : text.padEnd(WIDTHS[i]!)))
    .join('  ')
    .trimEnd();
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
