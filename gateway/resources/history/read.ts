/** Reads of the history for a request, and pages of its lists. */

import type { AsOf } from '../../../persistence/history/as-of.js';
import type {
  HistoryAnswers,
  HistoryKind,
  RequestOf,
} from '../../../persistence/history/requests.js';
import { HISTORY_PRUNED, HISTORY_UNAVAILABLE } from '../../commands/errors.js';
import { queryHistory } from '../../commands/history-query.js';
import type { Call } from '../../http/call.js';
import { cursorOf, type PageEnd, type PageRequest, startOf } from '../paging.js';

/** Like {@link queryHistory}. By default, answers the request if the history is unavailable. */
export function readHistory<Kind extends HistoryKind>(
  call: Call,
  request: RequestOf<Kind>,
  respond: (answer: HistoryAnswers[Kind], at: AsOf) => void,
  refuse: () => void = () => call.refuseNow(HISTORY_UNAVAILABLE),
): void {
  queryHistory(call, request, respond, (isPruned) => {
    if (isPruned) call.refuseNow(HISTORY_PRUNED);
    else refuse();
  });
}

/** Kinds whose answer is a page with a single number as position. */
type PagedKind =
  | 'candles'
  | 'ledger'
  | 'marketTrades'
  | 'pastMarketTexts'
  | 'pointsCredits'
  | 'userOrders'
  | 'userTrades';

/** `end` has the page's last fields. */
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
    if (!call.require(page, 'market_not_found')) return;
    const nextCursor = page.nextCursor === null ? null : cursorOf(list, page.nextCursor);
    answer(page, { nextCursor, ...at });
  });
}
