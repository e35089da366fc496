/** Reads the history for a request, and pages of its lists. */
import type {
  HistoryAnswers,
  HistoryKind,
  HistoryReply,
  RequestOf,
} from '../../../persistence/history/requests.js';
import type { TrueAt } from '../../../persistence/history/true-at.js';
import type { Call } from '../../http/call.js';
import { HISTORY_PRUNED, HISTORY_UNAVAILABLE } from '../../http/errors.js';
import { cursorOf, type PageEnd, type PageRequest, startOf } from '../paging.js';

/** The source of a read: an HTTP request or a stream connection. */
export interface Reader
  extends Pick<Call, 'gateway' | 'minSequence' | 'session' | 'address' | 'isOver' | 'onLeft'> {
  /** Only HTTP requests have this. */
  refuseNow?: Call['refuseNow'];
}

/**
 * Reads the history. An answer is consistent at its sequence, which is at least the sequence that
 * was durable when the request arrived, and at least one that the client named. `refuse`: called if
 * the history is unavailable.
 *
 * A replica's follower reads the journal itself, so it may be ahead of the replica's engine; the
 * answer then waits until the engine has reached its sequence. Reads of one user (with its
 * sub-accounts), or of one address without a user, are served one after another.
 */
export function readHistory<Kind extends HistoryKind>(
  call: Reader,
  request: RequestOf<Kind>,
  respond: (answer: HistoryAnswers[Kind], at: TrueAt) => void,
  refuse: () => void = () => call.refuseNow!(HISTORY_UNAVAILABLE),
): void {
  const { gateway } = call;
  const { sequencer, waits } = gateway;
  const refuseFor = (reason: string) => {
    gateway.warnings.warn({ reason }, 'a read of the history was refused');
    refuse();
  };
  // While a batch is being applied, the engine is ahead of what is durable.
  const minSequence = Math.max(sequencer.durableSequence, call.minSequence);
  const reader = call.session?.payerId ?? call.address;
  const answered = (reply: HistoryReply<Kind>) => {
    if (call.isOver) return;
    if (reply.status !== 'ok') {
      if (reply.status === 'pruned' && call.refuseNow) call.refuseNow(HISTORY_PRUNED);
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
        if (call.isOver) return;
        if (isReached) answerNow();
        else refuseFor(`the history is at ${sequence}, which this process has not reached`);
      });
  };
  call.onLeft = gateway.history.read(request, minSequence, answered, reader);
}

/** Kinds whose answer is a page, with a single number as position. */
type PagedKind =
  | 'ledger'
  | 'marketTrades'
  | 'pastMarketTexts'
  | 'pointsCredits'
  | 'userOrders'
  | 'userTrades';

/** Reads a page of a list. `answer` gets the page and `end`, its last fields. */
export function answerPage<Kind extends PagedKind>(
  call: Call<unknown, PageRequest>,
  list: string,
  request: { kind: Kind } & Omit<RequestOf<Kind>, 'kind' | keyof PageRequest>,
  answer: (page: NonNullable<HistoryAnswers[Kind]>, end: PageEnd) => void,
): void {
  const cursor = startOf(call, list);
  if (cursor === undefined) return;
  const { limit } = call.query;
  const wanted = { ...request, limit, cursor } as unknown as RequestOf<Kind>;
  readHistory(call, wanted, (page, at) => {
    if (!call.finds(page, 'market_not_found')) return;
    const nextCursor = page.nextCursor === null ? null : cursorOf(list, page.nextCursor);
    answer(page, { nextCursor, ...at });
  });
}
