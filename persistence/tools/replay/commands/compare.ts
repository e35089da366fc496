/**
 * `compare`: the first command in which two journals differ. The journals may be cut into different
 * batches. Equal commands lead to equal states: `verify` proves of each journal that its commands
 * lead to its digests.
 */
import type { Engine } from '../../../../engine/engine.js';
import { readCommand, timeOf } from '../../../../engine/interface/command-record.js';
import { RecordBuffer, WORD_BYTES, wordsOf } from '../../../../engine/interface/records.js';
import { readJournal } from '../../../journal/read-only.js';
import { recordsIn } from '../../../journal/row.js';
import type { Segment } from '../../../journal/segments.js';
import type { JournalSource } from '../../../journal/store.js';
import { withArchive } from '../../operations/archive.js';
import {
  checkFolder,
  ExitStatus,
  type Invocation,
  replayJournal,
} from '../input/replay-journal.js';
import { commandObject, commandText, type Names, senderText } from '../output/fields.js';
import { type JsonValue, timeText } from '../output/units.js';

export interface CompareRequest extends Omit<Invocation, 'folder' | 'earlier'> {
  folders: readonly [a: string, b: string];
}

/** Of each of the two: segments that its folder lacks. */
type Earlier = readonly [readonly Segment[], readonly Segment[]];

/** The records at the first sequence that does not have the same in both; null: there is none. */
interface Difference {
  sequence: number;
  records: readonly (Buffer | null)[];
}

export async function compare(request: CompareRequest): Promise<ExitStatus> {
  const { folders, archive } = request;
  for (const folder of folders) await checkFolder(folder);
  const [a, b] = folders;
  return withArchive(a, archive, (ofA) =>
    withArchive(b, archive, (ofB) => compareWith(request, [ofA, ofB])),
  );
}

async function compareWith(request: CompareRequest, earlier: Earlier): Promise<ExitStatus> {
  const { folders, output, json, progress } = request;
  const difference = await firstDifference(folders, earlier);
  const { sequence, records } = difference;
  const commands = sequence - 1;
  if (records.every((record) => record === null)) {
    const head = `Both journals have the same ${commands} commands.\n`;
    output.report({ fields: { same: true, commands, difference: null }, head }, json);
    return ExitStatus.GOOD;
  }
  // The names of assets, markets and partners.
  const visit = (engine: Engine) => ({ proven: () => engine.sequence < sequence });
  const { engine } = await replayJournal({
    folder: folders[0],
    progress,
    visit,
    earlier: earlier[0],
  });
  const [a, b] = records.map((record) => (record === null ? null : decoded(record, engine)));
  const fields = {
    same: false,
    commands,
    difference: { sequence, a: a?.json ?? null, b: b?.json ?? null },
  };
  const lines = [a, b].map((one, i) => `  ${folders[i]}: ${one?.text ?? 'has ended'}\n`);
  const head = `The journals differ from sequence ${sequence} on:\n${lines.join('')}`;
  output.report({ fields, head }, json);
  return ExitStatus.DAMAGE;
}

function firstDifference(
  [a, b]: CompareRequest['folders'],
  [ofA, ofB]: Earlier,
): Promise<Difference> {
  const compareReaders = (first: JournalSource) =>
    readJournal(
      b,
      async (second) => {
        const sides = [recordsOf(first), recordsOf(second)];
        for (let sequence = 1; ; sequence++) {
          const next = await Promise.all(sides.map((side) => side.next()));
          const records = next.map(({ value }) => value ?? null);
          const [one, other] = records;
          if (one && other && one.equals(other)) continue;
          for (const side of sides) await side.return();
          return { sequence, records };
        }
      },
      ofB,
    );
  return readJournal(a, compareReaders, ofA);
}

async function* recordsOf(source: JournalSource): AsyncGenerator<Buffer, void, void> {
  const records = new RecordBuffer();
  for await (const batch of source.batches()) {
    for (const at of recordsIn(batch, records)) {
      const from = at * WORD_BYTES;
      yield batch.records.subarray(from, from + wordsOf(records, at) * WORD_BYTES);
    }
  }
}

function decoded(record: Buffer, names: Names): { json: JsonValue; text: string } {
  const records = new RecordBuffer();
  records.load(record);
  const command = readCommand(records, 0);
  const time = timeText(timeOf(records, 0));
  return {
    json: { time, sender: senderText(command), command: commandObject(command, names) },
    text: `${time}  ${commandText(command, names)} by ${senderText(command)}`,
  };
}
