/**
 * Compares what the clients were told with the journal, which is read at the end and replayed by an
 * engine that knows nothing else.
 */

import type { PostgresCluster } from '../../../bench/cluster/postgres.js';
import { Engine } from '../../../engine/engine.js';
import type { Command } from '../../../engine/interface/commands.js';
import { Replay, withCommand } from '../../../persistence/recovery/recovery.js';
import { openSource } from '../../../persistence/replication/source.js';
import { answerOf } from '../soak/answers.js';
import type { Acknowledgement } from './load.js';

export interface Judgement {
  commands: number;
  epochs: number;
  lost: string[];
  doubled: string[];
  /** Acknowledgements that are not, byte for byte, what the journal gives. */
  different: string[];
  /** An older leader acknowledged after a younger one. */
  twoLeaders: string[];
}

export interface Execution {
  times: number;
  sequence: number;
  answer: { status: number; text: string };
}

export interface EpochRow {
  lastSequence: number;
  epoch: number;
}

/** The journal's part of it. */
export interface JournalContent {
  commands: number;
  executions: ReadonlyMap<string, Execution>;
  /** In the order of the journal. */
  rows: readonly EpochRow[];
}

/** The cluster must be whole, and nobody may write. */
export async function readContent(postgres: PostgresCluster): Promise<JournalContent> {
  const executions = new Map<string, Execution>();
  const engine = new Engine();
  const take = withCommand((command) => count(engine, command, executions));
  const replay = new Replay(engine, take);
  const source = await openSource({ postgres: postgres.address });
  try {
    for await (const batch of source.batches()) replay.apply(batch);
  } finally {
    await source.close();
  }
  engine.checkInvariants();
  return { commands: engine.sequence, executions, rows: await epochRows(postgres) };
}

export function judge(
  { commands, executions, rows }: JournalContent,
  acknowledged: readonly Acknowledgement[],
): Judgement {
  const judgement: Judgement = {
    commands,
    epochs: new Set(rows.map(({ epoch }) => epoch)).size,
    lost: [],
    doubled: [],
    different: [],
    twoLeaders: leadersAtATime(acknowledged, executions, rows),
  };
  for (const [name, { times }] of executions)
    if (times > 1) judgement.doubled.push(`${name} was executed ${times} times`);
  for (const { userId, key, status, text } of acknowledged) {
    const name = nameOf(userId, key);
    const execution = executions.get(name);
    if (execution === undefined) judgement.lost.push(`${name} was acknowledged: ${text}`);
    else if (execution.answer.status !== status || execution.answer.text !== text)
      judgement.different.push(`${name}: ${text} is ${execution.answer.text} in the journal`);
  }
  return judgement;
}

function count(engine: Engine, command: Command, executions: Map<string, Execution>): void {
  if (!('idempotencyKey' in command) || command.idempotencyKey === null || engine.replayed) return;
  const name = nameOf(command.userId, command.idempotencyKey);
  const earlier = executions.get(name);
  if (earlier !== undefined) earlier.times++;
  else {
    const { status, body } = answerOf(engine, command);
    const text = Buffer.from(body as string).toString('utf8');
    executions.set(name, { times: 1, sequence: engine.sequence, answer: { status, text } });
  }
}

/**
 * Once a command of an epoch was acknowledged, no command that is sent later may be executed and
 * acknowledged in an older one.
 */
function leadersAtATime(
  acknowledged: readonly Acknowledgement[],
  executions: ReadonlyMap<string, Execution>,
  rows: readonly EpochRow[],
): string[] {
  const first = acknowledged.filter(({ isReplayed }) => !isReplayed);
  const byAnswer = first.toSorted((a, b) => a.receivedMs - b.receivedMs);
  const bySending = first.toSorted((a, b) => a.sentMs - b.sentMs);
  const problems: string[] = [];
  let youngest = 0;
  let answered = 0;
  for (const { userId, key, sentMs } of bySending) {
    for (; (byAnswer[answered]?.receivedMs ?? Infinity) < sentMs; answered++)
      youngest = Math.max(youngest, epochOf(byAnswer[answered]!, executions, rows));
    const epoch = epochOf({ userId, key }, executions, rows);
    if (epoch !== 0 && epoch < youngest)
      problems.push(`${nameOf(userId, key)}: epoch ${epoch} after ${youngest} had acknowledged`);
  }
  return problems;
}

/** The epoch in which a command was executed; 0: it is not in the journal, which `lost` says. */
function epochOf(
  { userId, key }: { userId: number; key: string },
  executions: ReadonlyMap<string, Execution>,
  rows: readonly EpochRow[],
): number {
  const sequence = executions.get(nameOf(userId, key))?.sequence ?? Infinity;
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rows[middle]!.lastSequence < sequence) low = middle + 1;
    else high = middle;
  }
  return rows[low]?.epoch ?? 0;
}

async function epochRows(postgres: PostgresCluster): Promise<EpochRow[]> {
  const sql = 'SELECT last_sequence, epoch FROM batch ORDER BY first_sequence';
  const rows = await postgres.query(postgres.primary, sql);
  // int8 comes as text.
  return rows.map((row) => ({
    lastSequence: Number(row['last_sequence']),
    epoch: Number(row['epoch']),
  }));
}

export function nameOf(userId: number, key: string): string {
  return `key ${key} of u${userId}`;
}
