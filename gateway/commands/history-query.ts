/** Reads of the history for a client, over any transport. */
import type { HistoryClient } from '../../persistence/follower/history-client.js';
import type { AsOf } from '../../persistence/history/as-of.js';
import type { ReaderKey } from '../../persistence/history/fair-read-scheduler.js';
import type {
  HistoryAnswers,
  HistoryKind,
  HistoryReply,
  RequestOf,
} from '../../persistence/history/requests.js';
import type { Sequencer } from '../../persistence/sequencer.js';
import type { AddressKey } from '../access/fair-use/addresses.js';
import { Bill, type FairUse } from '../access/fair-use/fair-use.js';
import type { Session } from '../access/sessions.js';
import type { RationedLog } from '../observe/rationed-log.js';

export interface HistoryReader {
  readonly gateway: {
    readonly history: HistoryClient;
    readonly sequencer: Pick<Sequencer, 'engine' | 'durableSequence'>;
    readonly waits: { wait(sequence: number, done: (isReached: boolean) => void): void };
    readonly fairUse: FairUse;
    readonly warnings: RationedLog;
    fail(error: unknown): void;
  };
  readonly session: Session | null;
  readonly address: AddressKey;
  readonly minSequence: number;
  readonly isOver: boolean;
  onLeft: (() => void) | null;
}

/** Reads and pending reads are counted under this key. */
export function readerKeyOf({
  session,
  address,
}: Pick<HistoryReader, 'session' | 'address'>): ReaderKey {
  return session?.payerId ?? address;
}

/**
 * Reads the history as of one sequence, at least `minSequence` and the sequence that was durable at
 * the call. Calls `refuse` if the history is unavailable or has pruned the answer. Reads with the
 * same {@link readerKeyOf} are served one after another.
 *
 * On a replica, the history may be ahead of the engine; the answer then waits for the engine.
 */
export function queryHistory<Kind extends HistoryKind>(
  reader: HistoryReader,
  request: RequestOf<Kind>,
  respond: (answer: HistoryAnswers[Kind], at: AsOf) => void,
  refuse: (isPruned: boolean) => void,
): void {
  const { gateway } = reader;
  const { sequencer, waits } = gateway;
  const refuseFor = (reason: string) => {
    gateway.warnings.warn({ reason }, 'a read of the history was refused');
    refuse(false);
  };
  // The engine is ahead of the durable sequence while it applies a batch.
  const minSequence = Math.max(sequencer.durableSequence, reader.minSequence);
  const readerKey = readerKeyOf(reader);
  const answered = (reply: HistoryReply<Kind>) => {
    if (reader.isOver) return;
    if (reply.status !== 'ok') {
      if (reply.status === 'pruned') refuse(true);
      else refuseFor(reply.reason);
      return;
    }
    const { answer, sequence, atMs } = reply;
    const answerNow = () => {
      try {
        respond(answer, { sequence, atMs });
      } catch (error) {
        gateway.fail(error);
      }
    };
    if (sequence <= sequencer.engine.sequence) answerNow();
    else
      waits.wait(sequence, (isReached) => {
        if (reader.isOver) return;
        if (isReached) answerNow();
        else refuseFor(`the history is at ${sequence}, which this process has not reached`);
      });
  };
  reader.onLeft = gateway.history.read(request, minSequence, answered, readerKey);
}

export function chargeRead(
  reader: Pick<HistoryReader, 'gateway' | 'session' | 'address'>,
): boolean {
  const bill = new Bill(reader);
  bill.payer = reader.session;
  return reader.gateway.fairUse.charge('reads', bill, 1)?.granted ?? true;
}
