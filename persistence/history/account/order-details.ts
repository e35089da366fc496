/**
 * What few orders have and the history does not keep: the client's id, an expiry, a self-trade mode
 * other than the usual one. It is in the command that placed the order, so it is read from the
 * journal, at the sequence of that command. The entry of the order says whether there is any, and
 * which operation of a batch it was.
 */
import { CommandRecord } from '../../../engine/interface/command-record.js';
import { CommandKind } from '../../../engine/interface/commands.js';
import { SelfTrade } from '../../../engine/interface/domain.js';
import { MAX_TIME_MS } from '../../../engine/interface/limits.js';
import { checkRecord } from '../../../engine/interface/record-check.js';
import { RecordBuffer, RecordError } from '../../../engine/interface/records.js';
import { JournalError, JournalUnavailable } from '../../journal/errors.js';
import type { JournalBatch } from '../../journal/store.js';

export interface OrderDetails {
  clientOrderId: string | null;
  /** null: when the market ends. */
  expiresAtMs: number | null;
  /** null: not known, like the two above, because that part of the journal is in an archive. */
  selfTrade: SelfTrade | null;
}

/** Of orders that have nothing of the kind. */
export const USUAL_DETAILS: OrderDetails = {
  clientOrderId: null,
  expiresAtMs: null,
  selfTrade: SelfTrade.CANCEL_RESTING,
};
const UNKNOWN_DETAILS: OrderDetails = { ...USUAL_DETAILS, selfTrade: null };

/** Finds the batch of the journal that holds a sequence; null: there is none yet. */
export type FindBatch = (sequence: number) => Promise<JournalBatch | null>;

/** What an entry says: 0 if the order has no details, else the number of its operation, from 1. */
export function detailOf(order: CommandRecord, operation: number): number {
  const isUsual =
    !order.isNamed &&
    order.expiresAtMs === MAX_TIME_MS &&
    order.selfTrade === SelfTrade.CANCEL_RESTING;
  return isUsual ? 0 : operation + 1;
}

/** Reads details of several orders; those of one batch of the journal cost one read. */
export class DetailsReader {
  private readonly records = new RecordBuffer();
  private batch: JournalBatch | null = null;
  private readonly command = new CommandRecord();

  constructor(private readonly find: FindBatch) {}

  /** `detail` as in the entry that the command at `sequence` made. */
  async read(sequence: number, detail: number): Promise<OrderDetails> {
    if (detail === 0) return USUAL_DETAILS;
    try {
      if (!(await this.load(sequence))) return UNKNOWN_DETAILS;
      return this.detailsAt(sequence, detail - 1);
    } catch (error) {
      const isUnreadable =
        error instanceof JournalError ||
        error instanceof JournalUnavailable ||
        error instanceof RecordError;
      // Damage is for the follower to find, which reads the whole journal.
      if (isUnreadable) return UNKNOWN_DETAILS;
      throw error;
    }
  }

  private async load(sequence: number): Promise<boolean> {
    const { batch } = this;
    if (batch !== null && batch.firstSequence <= sequence && sequence <= batch.lastSequence)
      return true;
    this.batch = null;
    const found = await this.find(sequence);
    if (found === null) return false;
    this.records.load(found.records);
    this.batch = found;
    return true;
  }

  private detailsAt(sequence: number, operation: number): OrderDetails {
    const { records, command } = this;
    let at = 0;
    for (let each = this.batch!.firstSequence; each < sequence; each++)
      at = checkRecord(records, at);
    checkRecord(records, at);
    command.open(records, at);
    if (command.kind === CommandKind.batch) {
      let from = command.afterKey;
      for (let i = 0; i <= operation; i++, from = command.next)
        command.openOperation(records, from);
    }
    const { expiresAtMs } = command;
    return {
      clientOrderId: command.name,
      expiresAtMs: expiresAtMs === MAX_TIME_MS ? null : expiresAtMs,
      selfTrade: command.selfTrade as SelfTrade,
    };
  }
}
