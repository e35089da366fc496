/**
 * Compares what the clients of a load were told with the journal, which is replayed by an engine
 * that knows nothing else.
 */
import type { Engine } from '../../../engine/engine.js';
import { numberOfKey } from '../../../engine/interface/client-sequence.js';
import { Code } from '../../../engine/interface/codes.js';
import type { Command } from '../../../engine/interface/commands.js';
import { ResultHead } from '../../../engine/interface/results.js';
import { answerOf } from './answers.js';
import { type Acknowledgement, keyName, type Load, orderName } from './load.js';

export interface Judgement {
  lost: string[];
  doubled: string[];
  /** Acknowledgements that are not, byte for byte, what the journal gives. */
  different: string[];
  /** In the journal, and sent by no client. */
  unsent: string[];
  /** An older leader acknowledged after a younger one. */
  twoLeaders: string[];
}

export const NO_PROBLEM: Judgement = {
  lost: [],
  doubled: [],
  different: [],
  unsent: [],
  twoLeaders: [],
};

export interface Execution {
  times: number;
  sequence: number;
  answer: { status: number; text: string };
}

/** A batch of the journal, and the epoch of the leader that wrote it. */
export interface EpochRow {
  lastSequence: number;
  epoch: number;
}

/** The clients' commands that a replay executes, by name. */
export class Executions extends Map<string, Execution> {
  /** Call it right after the engine has applied the command. */
  take(engine: Engine, command: Command): void {
    const name = nameOf(command);
    const isStale = engine.result.values[ResultHead.code] === Code.client_sequence_stale;
    if (name === null || engine.replayed || isStale) return;
    const earlier = this.get(name);
    if (earlier !== undefined) earlier.times++;
    else {
      const { status, body } = answerOf(engine, command);
      const text = Buffer.from(body as string).toString('utf8');
      this.set(name, { times: 1, sequence: engine.sequence, answer: { status, text } });
    }
  }
}

export function judge(
  executions: Executions,
  { acknowledged, sent }: Pick<Load, 'acknowledged' | 'sent'>,
  rows: readonly EpochRow[] = [],
): Judgement {
  const twoLeaders = leadersAtATime(acknowledged, executions, rows);
  const judgement: Judgement = { ...structuredClone(NO_PROBLEM), twoLeaders };
  for (const [name, { times }] of executions) {
    if (times > 1) judgement.doubled.push(`${name} was executed ${times} times`);
    if (!sent.has(name)) judgement.unsent.push(name);
  }
  const first = new Set<string>();
  for (const { name, status, text, isReplayed, isStale } of acknowledged) {
    const execution = executions.get(name);
    if (execution === undefined) judgement.lost.push(`${name} was acknowledged: ${text}`);
    else if (!isStale && (execution.answer.status !== status || execution.answer.text !== text))
      judgement.different.push(`${name}: ${text} is ${execution.answer.text} in the journal`);
    if (isStale || isReplayed) continue;
    if (first.has(name)) judgement.doubled.push(`${name} was answered twice as if executed`);
    first.add(name);
  }
  return judgement;
}

/** null: not a command that a load sends. */
function nameOf(command: Command): string | null {
  if (!('idempotencyKey' in command)) return null;
  const { idempotencyKey: key, userId } = command;
  if (key !== null) return keyName(userId, `${numberOfKey(key)?.clientSequence ?? key}`);
  return command.kind === 'buy' || command.kind === 'sell' ? orderName(command.validUntilMs) : null;
}

/**
 * Once a command of an epoch was acknowledged, no command that is sent later may be executed and
 * acknowledged in an older one.
 */
function leadersAtATime(
  acknowledged: readonly Acknowledgement[],
  executions: Executions,
  rows: readonly EpochRow[],
): string[] {
  const first = acknowledged.filter(({ isReplayed, isStale }) => !isReplayed && !isStale);
  const byAnswer = first.toSorted((a, b) => a.receivedMs - b.receivedMs);
  const bySending = first.toSorted((a, b) => a.sentMs - b.sentMs);
  const problems: string[] = [];
  let youngest = 0;
  let answered = 0;
  for (const { name, sentMs } of bySending) {
    for (; (byAnswer[answered]?.receivedMs ?? Infinity) < sentMs; answered++)
      youngest = Math.max(youngest, epochOf(byAnswer[answered]!.name, executions, rows));
    const epoch = epochOf(name, executions, rows);
    if (epoch !== 0 && epoch < youngest)
      problems.push(`${name}: epoch ${epoch} after ${youngest} had acknowledged`);
  }
  return problems;
}

/** The epoch in which a command was executed; 0: it is not in the journal, which `lost` says. */
function epochOf(name: string, executions: Executions, rows: readonly EpochRow[]): number {
  const sequence = executions.get(name)?.sequence ?? Infinity;
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rows[middle]!.lastSequence < sequence) low = middle + 1;
    else high = middle;
  }
  return rows[low]?.epoch ?? 0;
}
