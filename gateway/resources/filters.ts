/** The filters of an account's lists: a market and a range of time. */
import { marketIdNumber } from '../../engine/interface/notation.js';
import type { Call } from '../http/call.js';
import { invalidRequest } from '../http/errors.js';

interface FilterQuery {
  marketId?: string | undefined;
  fromMs?: number | undefined;
  toMs?: number | undefined;
}

export interface Filter {
  /** Part of the name of the filtered list, so that a cursor belongs to its filters. */
  name: string;
  bounds: { marketId: number | null; fromMs: number | null; toMs: number | null };
  /** Whether there is one. */
  isSet: boolean;
}

/** null: refused. */
export function filterOf(call: Call<unknown, FilterQuery>): Filter | null {
  const { marketId: marketName, fromMs = null, toMs = null } = call.query;
  const marketId = marketName === undefined ? null : marketIdNumber(call.engine, marketName);
  if (marketId === 0) {
    call.refuseNow(invalidRequest({ marketId: 'must be the id of a market' }));
    return null;
  }
  if (fromMs !== null && toMs !== null && fromMs > toMs) {
    call.refuseNow(invalidRequest({ fromMs: 'must not be after toMs' }));
    return null;
  }
  const isSet = marketId !== null || fromMs !== null || toMs !== null;
  const name = isSet ? `?${marketId ?? ''}/${fromMs ?? ''}/${toMs ?? ''}` : '';
  return { name, bounds: { marketId, fromMs, toMs }, isSet };
}
