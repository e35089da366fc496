/** What fair use and the limits ask of a command that is a record. */
import { CommandRecord } from '../../engine/interface/command-record.js';
import { CommandKind } from '../../engine/interface/commands.js';
import { type RecordBuffer, wordsOf } from '../../engine/interface/records.js';
import { CANCEL_KINDS } from './cancels.js';

export interface RecordSummary {
  /** A batch has several; any other command is one. */
  operations: number;
  onlyCancels: boolean;
}

const CANCELS: ReadonlySet<number> = new Set(CANCEL_KINDS.map((kind) => CommandKind[kind]));
const command = new CommandRecord();
const operation = new CommandRecord();

/** Sums up the first record, which was checked; null: some of it is not the user's. */
export function summaryOf(records: RecordBuffer, userId: number): RecordSummary | null {
  command.open(records, 0);
  if (command.userId !== userId) return null;
  if (command.kind !== CommandKind.batch)
    return { operations: 1, onlyCancels: CANCELS.has(command.kind) };
  const operations = command.operationCount;
  let onlyCancels = true;
  let at = command.afterKey;
  for (let i = 0; i < operations; i++, at += wordsOf(records, at)) {
    operation.openOperation(records, at);
    if (operation.userId !== userId) return null;
    onlyCancels &&= CANCELS.has(operation.kind);
  }
  return { operations, onlyCancels };
}
