/** A record from an edge: complete, and all of it belongs to its user. */
import { ClientSequence, numberedKey } from '../../../engine/interface/client-sequence.js';
import { CommandRecord, kindAt, readCommand } from '../../../engine/interface/command-record.js';
import { BATCH_KINDS, type Command, CommandKind } from '../../../engine/interface/commands.js';
import { checkRecord } from '../../../engine/interface/record-check.js';
import { type RecordBuffer, RecordError } from '../../../engine/interface/records.js';
import { type RecordSummary, summaryOf } from '../../commands/cancels.js';
import { FrameError } from '../link/frames.js';

const IS_OF_CLIENTS = new Uint8Array(256);
for (const name of [...BATCH_KINDS, 'batch'] as const) IS_OF_CLIENTS[CommandKind[name]] = 1;

const command = new CommandRecord();
const clientSequence = new ClientSequence();

/** `leastUnits`: the cost of the request's text, as over other transports. @throws FrameError */
export function loadRecord(
  records: RecordBuffer,
  bytes: Uint8Array,
  userId: number,
  leastUnits: number,
): RecordSummary {
  try {
    records.load(bytes);
    if (checkRecord(records, 0) !== records.length) throw new RecordError('more than one record');
  } catch (error) {
    if (!(error instanceof RecordError)) throw error;
    throw new FrameError(`a record is broken, or has a different version: ${error.message}`);
  }
  if (IS_OF_CLIENTS[kindAt(records, 0)] === 0)
    throw new FrameError('a record has a command that no client may send');
  const summary = summaryOf(records, userId);
  if (summary === null) throw new FrameError('a record is not of the user who sent it');
  summary.units = Math.max(summary.units, leastUnits);
  return summary;
}

/** Corrects the sequence's token: the edge learns of a sign-in only from the core's answer. */
export function numberBy(records: RecordBuffer, tokenId: number): void {
  command.open(records, 0);
  const { keyFrom, keyLength } = command;
  const isNumbered =
    ClientSequence.isIn(records.bytes, keyFrom, keyLength) &&
    clientSequence.read(records.bytes, keyFrom, keyLength);
  if (!isNumbered || clientSequence.tokenId === tokenId) return;
  const idempotencyKey = numberedKey(tokenId, clientSequence.number);
  const numbered = { ...readCommand(records, 0), idempotencyKey } as Command;
  records.clear();
  records.append(numbered, 0);
}
