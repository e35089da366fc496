/** A record from an edge: complete, and all of it belongs to its user. */
import { ClientSequence } from '../../../engine/interface/client-sequence.js';
import { CommandRecord, kindAt } from '../../../engine/interface/command-record.js';
import { BATCH_KINDS, CommandKind } from '../../../engine/interface/commands.js';
import { checkRecord } from '../../../engine/interface/record-check.js';
import { type RecordBuffer, RecordError } from '../../../engine/interface/records.js';
import { type RecordSummary, summaryOf } from '../../commands/cancels.js';
import { FrameError } from '../link/frames.js';

/** Whether a client may send a command, by the number of its kind. */
const IS_OF_CLIENTS = new Uint8Array(256);
for (const name of [...BATCH_KINDS, 'batch'] as const) IS_OF_CLIENTS[CommandKind[name]] = 1;

const command = new CommandRecord();
const clientSequence = new ClientSequence();

/**
 * Replaces the buffer's content with one checked record. `leastUnits` is the cost of the request's
 * text, as over HTTP and the stream.
 * @throws FrameError
 */
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

/**
 * Whether the checked record's number, if it has one, is the token's. It is not if the edge has
 * not yet heard of the stream's latest sign-in.
 */
export function isNumberedBy(records: RecordBuffer, tokenId: number): boolean {
  command.open(records, 0);
  const { keyFrom, keyLength } = command;
  if (!ClientSequence.isIn(records.bytes, keyFrom, keyLength)) return true;
  return (
    clientSequence.read(records.bytes, keyFrom, keyLength) && clientSequence.tokenId === tokenId
  );
}
