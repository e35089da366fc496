/**
 * Compares the clients' record with the journal, which is replayed with all checks. Each command of
 * a client must be one that it sent, executed once, and answered with the same bytes.
 */

import { eachEvent } from '../../../bench/measure/events.js';
import { readJournal } from '../../../bench/measure/journal.js';
import { Engine } from '../../../engine/engine.js';
import { Code } from '../../../engine/interface/codes.js';
import type { Command } from '../../../engine/interface/commands.js';
import { ResultHead } from '../../../engine/interface/results.js';
import { Replay, withCommand } from '../../../persistence/recovery/recovery.js';
import { answerOf, hasReceipt } from './answers.js';
import { type AttemptRecord, answerHash, TradeSum } from './record.js';
import { ProblemList } from './tally.js';
import { addFills } from './trader.js';

/** An account as the exchange showed it at a sequence. */
export interface SeenAccount {
  userId: number;
  sequence: number;
  availableMicros: number;
  heldMicros: number;
  orders: number;
}

export interface JournalCheck {
  problems: string[];
  /** Executed attempts, and those of them that were never answered. */
  executed: number;
  unacknowledged: number;
  /** Repetitions that were answered with the replayed first answer. */
  repeated: number;
  lastSequence: number;
  trades: Map<number, TradeSum>;
  /** Trades as taker of attempts that were executed and never answered. */
  unseen: Map<number, TradeSum>;
}

/** Checks the journal of a stopped exchange. `users`: whose trades to sum. */
export function checkJournal(
  folder: string,
  record: AttemptRecord,
  users: ReadonlySet<number>,
  seen: readonly SeenAccount[],
): Promise<JournalCheck> {
  return readJournal(folder, async (reader) => {
    const check = new Check(record, users, seen);
    for await (const batch of reader.batches()) check.replay.apply(batch);
    return check.finish();
  });
}

class Check {
  private readonly engine = new Engine();
  readonly replay = new Replay(
    this.engine,
    withCommand((command) => this.applied(command)),
  );
  private readonly problems = new ProblemList();
  /** By attempt: how often it was executed, and how often it is in the journal. */
  private readonly executions: Uint8Array;
  private readonly entries: Uint8Array;
  private repeated = 0;
  private readonly trades = new Map<number, TradeSum>();
  private readonly unseen = new Map<number, TradeSum>();
  private readonly seenAt = new Map<number, SeenAccount[]>();

  constructor(
    private readonly record: AttemptRecord,
    users: ReadonlySet<number>,
    seen: readonly SeenAccount[],
  ) {
    this.executions = new Uint8Array(record.count + 1);
    this.entries = new Uint8Array(record.count + 1);
    for (const userId of users) {
      this.trades.set(userId, new TradeSum());
      this.unseen.set(userId, new TradeSum());
    }
    for (const account of seen) {
      const others = this.seenAt.get(account.sequence);
      if (others === undefined) this.seenAt.set(account.sequence, [account]);
      else others.push(account);
    }
  }

  finish(): JournalCheck {
    const { record } = this;
    let executed = 0;
    let unacknowledged = 0;
    for (let attempt = 1; attempt <= record.count; attempt++) {
      this.judge(attempt);
      if (this.executions[attempt] === 0) continue;
      executed++;
      if (record.answers(attempt) === 0) unacknowledged++;
    }
    for (const [sequence] of this.seenAt)
      this.problems.add(`the journal does not reach the sequence ${sequence}`);
    this.engine.checkInvariants();
    const { repeated, trades, unseen } = this;
    const problems = this.problems.texts;
    const lastSequence = this.engine.sequence;
    return { problems, executed, unacknowledged, repeated, lastSequence, trades, unseen };
  }

  private applied(command: Command): void {
    this.readTrades();
    this.checkSeen();
    const attempt = this.record.attemptOf(command);
    if (attempt === 0) return;
    if (attempt > this.record.count) this.problems.add(`attempt ${attempt} was never sent`);
    else this.count(attempt, command);
  }

  private count(attempt: number, command: Command): void {
    const { engine, record } = this;
    this.entries[attempt]!++;
    if (engine.result.values[ResultHead.code] === Code.client_sequence_stale) return;
    if (engine.replayed) this.repeated++;
    else this.executions[attempt]!++;
    const { status, body } = answerOf(engine, command);
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    if (record.answers(attempt) > 0) {
      if (answerHash(status, bytes) === record.answerHash(attempt)) return;
      this.problems.add(`the answer to attempt ${attempt} differs from the journal's`);
    } else if (hasReceipt(engine) && !engine.replayed) this.addUnseen(command, bytes);
  }

  private addUnseen(command: Command, receipt: Uint8Array): void {
    if (!('userId' in command)) return;
    const json = JSON.parse(Buffer.from(receipt).toString('utf8'));
    const sum = this.unseen.get(command.userId);
    if (sum === undefined) return;
    if (command.kind === 'buy' || command.kind === 'sell') addFills(sum, json);
    if (command.kind !== 'batch' || json.results === undefined) return;
    for (const result of json.results) if ('fills' in result) addFills(sum, result);
  }

  private judge(attempt: number): void {
    const { record } = this;
    const [executions, entries] = [this.executions[attempt]!, this.entries[attempt]!];
    const answers = record.answers(attempt);
    const received = answers + record.stales(attempt);
    if (executions > 1)
      this.problems.add(`duplicated: attempt ${attempt} was executed ${executions} times`);
    if (answers > 0 && executions === 0)
      this.problems.add(`lost: attempt ${attempt} was answered but is not in the journal`);
    if (entries < received || entries > received + record.losses(attempt)) {
      this.problems.add(
        `attempt ${attempt} is ${entries} times in the journal, was answered ${received} times and lost ${record.losses(attempt)} times`,
      );
    }
    const isFirstSeen = answers > 0 && entries === received;
    if (isFirstSeen && record.replays(attempt) !== answers - 1) {
      this.problems.add(
        `attempt ${attempt} was executed once, but ${record.replays(attempt)} of ${answers} answers were marked as replayed`,
      );
    }
  }

  private readTrades(): void {
    eachEvent(this.engine.events, (name, field) => {
      if (name !== 'trade') return;
      for (const side of ['taker', 'maker']) {
        const sum = this.trades.get(field(`${side}Id`));
        const upTicks = field('upTicks');
        const ticks = field(`${side}Outcome`) === 0 ? upTicks : 1_000 - upTicks;
        sum?.add(field('tradeId'), field(`${side}OrderId`), field('sizeLots'), ticks);
      }
    });
  }

  private checkSeen(): void {
    const { engine } = this;
    const accounts = this.seenAt.get(engine.sequence);
    if (accounts === undefined) return;
    this.seenAt.delete(engine.sequence);
    for (const { userId, availableMicros, heldMicros, orders } of accounts) {
      const account = engine.account(userId)!;
      const resting = engine.orders(userId).length;
      const shown = `${availableMicros} ${heldMicros} ${orders}`;
      const due = `${account.availableMicros} ${account.heldMicros} ${resting}`;
      if (shown !== due)
        this.problems.add(
          `u${userId} at ${engine.sequence} was shown ${shown}, but the journal has ${due}`,
        );
    }
  }
}
