/** Reads of the history for a client, over any transport. */
import type { HistoryClient } from '../../persistence/follower/history-client.js';
import type { Reader } from '../../persistence/history/read-turns.js';
import type {
  HistoryAnswers,
  HistoryKind,
  HistoryReply,
  RequestOf,
} from '../../persistence/history/requests.js';
import type { TrueAt } from '../../persistence/history/true-at.js';
import type { Sequencer } from '../../persistence/sequencer.js';
import type { AddressKey } from '../access/fair-use/addresses.js';
import { Bill, type FairUse } from '../access/fair-use/fair-use.js';
import type { Session } from '../access/sessions.js';
import type { RationedLog } from '../observe/rationed-log.js';

/**
 * A reader of the history: a request over HTTP, a connection of the stream, or an edge for either.
 */
export interface Asker {
  readonly gateway: {
    readonly history: HistoryClient;
    readonly sequencer: Pick<Sequencer, 'engine' | 'durableSequence'>;
    readonly waits: { wait(sequence: number, done: (isReached: boolean) => void): void };
    readonly fairUse: FairUse;
    readonly warnings: RationedLog;
    fail(error: unknown): void;
  };
  /** null: not signed in. */
  readonly session: Session | null;
  readonly address: AddressKey;
  /** The answer includes at least this sequence. */
  readonly minSequence: number;
  readonly isOver: boolean;
  /** Called when the client has left. */
  onLeft: (() => void) | null;
}

/** Whose reads, and waits for them, are counted together: the user's, or the address's. */
export function readerOf({ session, address }: Pick<Asker, 'session' | 'address'>): Reader {
  return session?.payerId ?? address;
}

/**
 * Reads the history. An answer is consistent at its sequence, which is at least the sequence that
 * was durable when the request arrived, and at least one that the client named. `refuse`: called
 * if the history is unavailable, or no longer has the answer.
 *
 * A replica's follower reads the journal itself, so it may be ahead of the replica's engine; the
 * answer then waits until the engine has reached its sequence. Reads of one user (with its
 * sub-accounts), or of one address without a user, are served one after another.
 */
export function askHistory<Kind extends HistoryKind>(
  asker: Asker,
  request: RequestOf<Kind>,
  respond: (answer: HistoryAnswers[Kind], at: TrueAt) => void,
  refuse: (isPruned: boolean) => void,
): void {
  const { gateway } = asker;
  const { sequencer, waits } = gateway;
  const refuseFor = (reason: string) => {
    gateway.warnings.warn({ reason }, 'a read of the history was refused');
    refuse(false);
  };
  // While a batch is being applied, the engine is ahead of what is durable.
  const minSequence = Math.max(sequencer.durableSequence, asker.minSequence);
  const reader = readerOf(asker);
  const answered = (reply: HistoryReply<Kind>) => {
    if (asker.isOver) return;
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
        if (asker.isOver) return;
        if (isReached) answerNow();
        else refuseFor(`the history is at ${sequence}, which this process has not reached`);
      });
  };
  asker.onLeft = gateway.history.read(request, minSequence, answered, reader);
}

/** Whether the asker pays for a read of the history. */
export function chargeRead(asker: Pick<Asker, 'gateway' | 'session' | 'address'>): boolean {
  const bill = new Bill(asker);
  bill.payer = asker.session;
  return asker.gateway.fairUse.charge('reads', bill, 1)?.granted ?? true;
}
