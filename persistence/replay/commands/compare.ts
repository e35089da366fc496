/**
 * `compare`: the first command in which two journals differ, and what differs between the two
 * states after the last sequence that both have. The journals may be cut into different batches.
 */
import type { Engine } from '../../../engine/engine.js';
import { readCommand, timeOf } from '../../../engine/interface/command-record.js';
import { checkRecord } from '../../../engine/interface/record-check.js';
import { RecordBuffer, RecordError, WORD_BYTES } from '../../../engine/interface/records.js';
import { JournalError } from '../../journal/errors.js';
import { readJournal } from '../../journal/read-only.js';
import type { JournalBatch, JournalSource } from '../../journal/store.js';
import {
  checkFolder,
  ExitStatus,
  type Invocation,
  replayJournal,
} from '../input/replay-journal.js';
import { firstDifference, type StateDifference } from '../input/state-difference.js';
import { commandObject, type Names } from '../output/command-json.js';
import { commandText, senderText } from '../output/command-text.js';
import { type JsonValue, jsonText, timeText } from '../output/json-values.js';
import { stateObject } from '../output/state.js';
import { StateVisitor } from './state.js';

export interface CompareRequest extends Omit<Invocation, 'folder'> {
  folders: readonly [a: string, b: string];
}

/** One command of a journal, copied. */
interface JournalledCommand {
  sequence: number;
  bytes: Buffer;
}

interface JournalDifference {
  sequence: number;
  /** null: the journal has ended. */
  commands: readonly [JournalledCommand | null, JournalledCommand | null];
}

interface State {
  object: { [name: string]: JsonValue };
  engine: Engine;
}

export async function compare(request: CompareRequest): Promise<ExitStatus> {
  const { folders, output, json } = request;
  for (const folder of folders) await checkFolder(folder);
  const { difference, lastCommon } = await compareJournals(folders);
  const states: State[] = [];
  for (const folder of folders) states.push(await stateOf(request, folder, lastCommon));
  const [a, b] = states as [State, State];
  const state = firstDifference(a.object, b.object);
  if (json) {
    output.json({
      same: difference === null && state === null,
      journals: difference === null ? null : journalObject(difference, a.engine),
      states: { sequence: lastCommon, difference: state as JsonValue },
    });
  } else {
    output.text(journalText(difference, lastCommon, folders, a.engine));
    output.text(stateText(state, lastCommon));
  }
  return difference === null && state === null ? ExitStatus.GOOD : ExitStatus.DAMAGE;
}

async function compareJournals([a, b]: CompareRequest['folders']): Promise<{
  difference: JournalDifference | null;
  lastCommon: number;
}> {
  return readJournal(a, (first) =>
    readJournal(b, async (second) => {
      const [left, right] = [commandsOf(first), commandsOf(second)];
      for (let sequence = 1; ; sequence++) {
        const [one, other] = [await left.next(), await right.next()];
        const commands = [one.done ? null : one.value, other.done ? null : other.value] as const;
        if (commands[0] === null && commands[1] === null)
          return { difference: null, lastCommon: sequence - 1 };
        const areSame = commands[0] !== null && commands[1]?.bytes.equals(commands[0].bytes);
        if (areSame) continue;
        await Promise.all([left.return(), right.return()]);
        // Where both have a command, the states after it show what the difference did.
        const lastCommon = commands.includes(null) ? sequence - 1 : sequence;
        return { difference: { sequence, commands }, lastCommon };
      }
    }),
  );
}

async function* commandsOf(source: JournalSource): AsyncGenerator<JournalledCommand, void, void> {
  const records = new RecordBuffer();
  for await (const batch of source.batches()) yield* commandsIn(batch, records);
}

function commandsIn(batch: JournalBatch, records: RecordBuffer): JournalledCommand[] {
  const commands: JournalledCommand[] = [];
  let sequence = batch.firstSequence;
  try {
    records.load(batch.records);
    for (let at = 0; at < records.length; sequence++) {
      const next = checkRecord(records, at);
      const bytes = batch.records.subarray(at * WORD_BYTES, next * WORD_BYTES);
      commands.push({ sequence, bytes });
      at = next;
    }
    return commands;
  } catch (error) {
    if (!(error instanceof RecordError)) throw error;
    throw new JournalError(`sequence ${sequence} cannot be decoded`, sequence, error);
  }
}

async function stateOf(
  { output, progress }: CompareRequest,
  folder: string,
  sequence: number,
): Promise<State> {
  const point = { sequence };
  const view = { userId: null, market: null };
  const visit = (engine: Engine) =>
    new StateVisitor(engine, {
      ...view,
      at: point,
      limit: 0,
      folder,
      output,
      progress,
      json: true,
    });
  const { engine, visitor } = await replayJournal({ folder, progress, visit });
  const object = stateObject(visitor.view ?? visitor.takeView(), engine, Number.POSITIVE_INFINITY);
  return { object: object as State['object'], engine };
}

function journalObject({ sequence, commands }: JournalDifference, names: Names): JsonValue {
  const [a, b] = commands.map((command) => (command === null ? null : decoded(command, names)));
  return { sequence, a: a?.json ?? null, b: b?.json ?? null };
}

function decoded({ bytes }: JournalledCommand, names: Names): { json: JsonValue; text: string } {
  const records = new RecordBuffer();
  records.load(bytes);
  const command = readCommand(records, 0);
  const time = timeText(timeOf(records, 0));
  return {
    json: { time, sender: senderText(command), command: commandObject(command, names) },
    text: `${time}  ${commandText(command, names)} by ${senderText(command)}`,
  };
}

function journalText(
  difference: JournalDifference | null,
  lastCommon: number,
  folders: CompareRequest['folders'],
  names: Names,
): string {
  if (difference === null) return `Both journals have the same ${lastCommon} commands.\n`;
  const lines = difference.commands.map((command, i) => {
    const what = command === null ? 'has ended' : decoded(command, names).text;
    return `  ${folders[i]}: ${what}\n`;
  });
  return `The journals differ from sequence ${difference.sequence} on:\n${lines.join('')}`;
}

function stateText(difference: StateDifference | null, sequence: number): string {
  if (difference === null) return `The states after sequence ${sequence} are the same.\n`;
  const { path, a, b } = difference;
  const [one, other] = [a, b].map((value) => (value === undefined ? 'nothing' : jsonText(value)));
  return `The states after sequence ${sequence} differ, first in ${path}: ${one} and ${other}.\n`;
}
