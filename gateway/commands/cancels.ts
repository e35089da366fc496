/** Fair-use quota and cost. Pure cancels have their own quota, with a reserve under overload. */
import { CommandRecord } from '../../engine/interface/command-record.js';
import { type Command, CommandKind } from '../../engine/interface/commands.js';
import { MAX_BATCH_OPERATIONS } from '../../engine/interface/limits.js';
import { type RecordBuffer, wordsOf } from '../../engine/interface/records.js';
import { type Cost, unitsOfText } from '../access/fair-use/charges.js';

const CANCEL_KINDS = ['cancel', 'cancelAll', 'cancelEverywhere'] as const;
const CANCELS: ReadonlySet<string> = new Set(CANCEL_KINDS);

export function onlyCancels(command: Command): boolean {
  return command.kind === 'batch'
    ? command.operations.every(({ kind }) => CANCELS.has(kind))
    : CANCELS.has(command.kind);
}

function afterSpace(bytes: Uint8Array, from: number): number {
  let at = from;
  for (let code = bytes[at]; code === 0x20 || (code! >= 0x09 && code! <= 0x0d); code = bytes[at])
    at++;
  return at;
}

export interface RecordSummary extends Cost {
  isBatch: boolean;
  isAtomic: boolean;
}

const CANCEL_NUMBERS: ReadonlySet<number> = new Set(CANCEL_KINDS.map((kind) => CommandKind[kind]));
const command = new CommandRecord();
const operation = new CommandRecord();

export function costOf(command: Command): Cost {
  const quota = onlyCancels(command) ? 'cancels' : 'orders';
  return { quota, units: command.kind === 'batch' ? command.operations.length : 1 };
}

const OP = Buffer.from('"op"');
const CANCEL = Buffer.from('"cancel');
/** `op` values that name the whole message rather than an operation. */
const ENVELOPES = ['"order"', '"batch"'].map((op) => Buffer.from(op));

/** Counts each `"op"` of unparsed text as an operation, to find the quota and the cost. */
export function costOfUnread(text: Uint8Array, leastUnits = unitsOfText(text)): Cost {
  const bytes = Buffer.from(text.buffer, text.byteOffset, text.byteLength);
  let operations = 0;
  let onlyCancels = true;
  for (let at = bytes.indexOf(OP); at >= 0; at = bytes.indexOf(OP, at + 1)) {
    const colon = afterSpace(bytes, at + OP.length);
    if (bytes[colon] !== 0x3a) continue;
    const value = afterSpace(bytes, colon + 1);
    if (ENVELOPES.some((op) => bytes.subarray(value, value + op.length).equals(op))) continue;
    onlyCancels &&= bytes.subarray(value, value + CANCEL.length).equals(CANCEL);
    if (++operations === MAX_BATCH_OPERATIONS) break;
  }
  const quota = onlyCancels && operations > 0 ? 'cancels' : 'orders';
  return { quota, units: Math.max(operations, leastUnits) };
}

/** Sums up a validated record. Returns `null` if part of it belongs to another user. */
export function summaryOf(records: RecordBuffer, userId: number): RecordSummary | null {
  command.open(records, 0);
  if (command.userId !== userId) return null;
  if (command.kind !== CommandKind.batch) {
    const quota = CANCEL_NUMBERS.has(command.kind) ? 'cancels' : 'orders';
    return { units: 1, quota, isBatch: false, isAtomic: false };
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
  const quota = onlyCancels ? 'cancels' : 'orders';
  return { units: operations, quota, isBatch: true, isAtomic };
}
