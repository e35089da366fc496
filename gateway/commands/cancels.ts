/**
 * Whether a command, or a request, only cancels: it then counts as cancels for fair use, and has a
 * reserve under overload.
 */
import { CommandRecord } from '../../engine/interface/command-record.js';
import { type Command, CommandKind } from '../../engine/interface/commands.js';
import { type RecordBuffer, wordsOf } from '../../engine/interface/records.js';

const CANCEL_KINDS = ['cancel', 'cancelAll', 'cancelEverywhere'] as const;
const CANCELS: ReadonlySet<string> = new Set(CANCEL_KINDS);

export function onlyCancels(command: Command): boolean {
  return command.kind === 'batch'
    ? command.operations.every(({ kind }) => CANCELS.has(kind))
    : CANCELS.has(command.kind);
}

const OP = Buffer.from('"op"');
const CANCEL = Buffer.from('"cancel');

/**
 * Whether the first operation of a batch cancels, from the bytes of its body: all that is looked at
 * before the sender is known. Without one, the batch does not only cancel.
 */
export function beginsWithCancel(body: Uint8Array): boolean {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.length);
  for (let at = bytes.indexOf(OP); at >= 0; at = bytes.indexOf(OP, at + 1)) {
    const colon = afterSpace(bytes, at + OP.length);
    if (bytes[colon] !== 0x3a) continue;
    const value = afterSpace(bytes, colon + 1);
    return bytes.subarray(value, value + CANCEL.length).equals(CANCEL);
  }
  return false;
}

function afterSpace(bytes: Uint8Array, from: number): number {
  let at = from;
  for (let code = bytes[at]; code === 0x20 || (code! >= 0x09 && code! <= 0x0d); code = bytes[at])
    at++;
  return at;
}

/** What fair use and the limits ask of a command that is a record. */
export interface RecordSummary {
  /** A batch has several; any other command is one. */
  operations: number;
  onlyCancels: boolean;
  isBatch: boolean;
  /** A batch of which all or nothing is executed. */
  isAtomic: boolean;
}

const CANCEL_NUMBERS: ReadonlySet<number> = new Set(CANCEL_KINDS.map((kind) => CommandKind[kind]));
const command = new CommandRecord();
const operation = new CommandRecord();

/** Sums up the first record, which was checked; null: some of it is not the user's. */
export function summaryOf(records: RecordBuffer, userId: number): RecordSummary | null {
  command.open(records, 0);
  if (command.userId !== userId) return null;
  if (command.kind !== CommandKind.batch) {
    const onlyCancels = CANCEL_NUMBERS.has(command.kind);
    return { operations: 1, onlyCancels, isBatch: false, isAtomic: false };
  }
  const isAtomic = command.isSet;
  const operations = command.operationCount;
  let onlyCancels = true;
  let at = command.afterKey;
  for (let i = 0; i < operations; i++, at += wordsOf(records, at)) {
    operation.openOperation(records, at);
    if (operation.userId !== userId) return null;
    onlyCancels &&= CANCEL_NUMBERS.has(operation.kind);
  }
  return { operations, onlyCancels, isBatch: true, isAtomic };
}
