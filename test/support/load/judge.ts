/**
 * Compares a load's answers with the journal, which an independent engine replays.
 */
import { numberOfKey } from '../../../engine/interface/client-sequence.js';
import { Code } from '../../../engine/interface/codes.js';
import type { Command } from '../../../engine/interface/commands.js';
import { ResultHead } from '../../../engine/interface/results.js';
import { type Applied, answerOf } from './answers.js';
import { keyName, type Load, orderName } from './load.js';

export interface Judgement {
  lost: string[];
  doubled: string[];
  /** Acknowledgements that differ from the journal's answer in at least one byte. */
  different: string[];
  /** Commands in the journal that no client sent. */
  unsent: string[];
  /**
   * Operations whose order in the journal contradicts time: an answer or observation arrived before
   * another one was requested, but has a later sequence. This also finds two leaders that both
   * acknowledge.
   */
  outOfOrder: string[];
}

export const NO_PROBLEM: Judgement = {
  lost: [],
  doubled: [],
  different: [],
  unsent: [],
  outOfOrder: [],
};

export interface Execution {
  times: number;
  sequence: number;
  answer: { status: number; text: string };
}

/** The clients' commands that a replay executes, by name. */
export class Executions extends Map<string, Execution> {
  /** Call right after the engine has applied the command. */
  take(engine: Applied, command: Command): void {
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

/**
 * Compares the answers with the journal. Observations must equal the state at their sequence
 * (specification.ts).
 */
export function judge(
  executions: Executions,
  { acknowledged, sent, observed }: Pick<Load, 'acknowledged' | 'sent' | 'observed'>,
): Judgement {
  const written = acknowledged.flatMap((one) => {
    const sequence = executions.get(one.name)?.sequence;
    return sequence === undefined ? [] : [{ ...one, what: one.name, sequence, isWrite: true }];
  });
  const seen = observed.map((one) => ({ ...one, isWrite: false }));
  const judgement: Judgement = {
    ...structuredClone(NO_PROBLEM),
    outOfOrder: outOfOrder([...written, ...seen]),
  };
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

/** The name that the load gave the command, or null if no load sends such a command. */
function nameOf(command: Command): string | null {
  if (!('idempotencyKey' in command)) return null;
  const { idempotencyKey: key, userId } = command;
  if (key !== null) return keyName(userId, `${numberOfKey(key)?.clientSequence ?? key}`);
  return command.kind === 'buy' || command.kind === 'sell' ? orderName(command.validUntilMs) : null;
}

interface Operation {
  what: string;
  sequence: number;
  calledMs: number;
  receivedMs: number;
  isWrite: boolean;
}

/**
 * Operations that are older than an answer received before they were sent: a read with a lower
 * sequence, or a write with a lower or equal one.
 */
function outOfOrder(operations: readonly Operation[]): string[] {
  const byAnswer = operations.toSorted((a, b) => a.receivedMs - b.receivedMs);
  const problems: string[] = [];
  let known = 0;
  let answered = 0;
  for (const each of operations.toSorted((a, b) => a.calledMs - b.calledMs)) {
    for (; (byAnswer[answered]?.receivedMs ?? Infinity) < each.calledMs; answered++)
      known = Math.max(known, byAnswer[answered]!.sequence);
    if (each.sequence < known || (each.isWrite && each.sequence === known))
      problems.push(`${each.what}: sequence ${each.sequence} after ${known} was known`);
  }
  return problems;
}
