/** Looks up what a request names, or refuses the request. */
import type { Engine } from '../../engine/engine.js';
import { Privacy } from '../../engine/interface/domain.js';
import { idNumber, marketIdNumber } from '../../engine/interface/notation.js';
import type { AccountView } from '../../engine/interface/views.js';
import { type ErrorCode, errorAnswer, invalidRequest } from '../commands/errors.js';
import { historyUnavailableError, queryPastMarket } from '../commands/past-market-errors.js';
import type { Call } from '../http/call.js';
import { readHistory } from './history/read.js';

export function findAccount(call: Call, parameter: string): AccountView | null {
  const account = call.engine.account(idNumber('u', call.parameter(parameter)));
  return call.require(account, 'user_not_found') ? account : null;
}

/** Refuses a private account for a client without a session. */
export function findShownAccount(call: Call, parameter: string): AccountView | null {
  const account = findAccount(call, parameter);
  // A signed-in caller can only name their own account: reading.ts refuses any other.
  const isOpen = account === null || account.privacy === Privacy.OPEN;
  if (isOpen || call.session !== null) return account;
  call.refuseWhenDurable(errorAnswer('missing_token', {}, PRIVATE));
  return null;
}

const PRIVATE = 'The account is private: only its user may read this, with a session.';

export function refuseWithoutMarket(call: Call, marketId: number): void {
  queryPastMarket(call, marketId, 'market_not_active', {}, (error) => {
    if (error === null) call.refuseNow(historyUnavailableError({}));
    else call.refuseWhenDurable(error);
  });
}

/** 0 never exists. With an idempotency key, the engine refuses it and stores the refusal. */
export function requireId(call: Call, id: number, code: ErrorCode): boolean {
  return id !== 0 || call.idempotencyKey !== null || call.refuseWhenDurable(errorAnswer(code));
}

export function requireListed(call: Call, symbol: string): boolean {
  if (call.engine.findAsset(symbol) >= 0) return true;
  call.refuseNow(invalidRequest({ asset: `is not listed; ${assetsText(call.engine)}` }));
  return false;
}

/** "the assets are BTC, ETH" */
export function assetsText(engine: Engine): string {
  const symbols = Array.from({ length: engine.assetCount }, (_, asset) =>
    engine.assetSymbol(asset),
  );
  return `the assets are ${symbols.join(', ')}`;
}

interface FilterQuery {
  marketId?: string | undefined;
  fromMs?: number | undefined;
  toMs?: number | undefined;
}

export interface Filter {
  /** Part of the list's name in cursors: a cursor is valid only with its filters. */
  name: string;
  bounds: { marketId: number | null; fromMs: number | null; toMs: number | null };
  isSet: boolean;
}

/** Refuses a market that never existed: an empty list would mean that nothing happened. */
export function withFilter(
  call: Call<unknown, FilterQuery>,
  respond: (filter: Filter) => void,
): void {
  const { engine, query } = call;
  const { marketId: marketName, fromMs = null, toMs = null } = query;
  if (fromMs !== null && toMs !== null && fromMs > toMs) {
    call.refuseNow(invalidRequest({ fromMs: 'must not be after toMs' }));
    return;
  }
  const marketId = marketName === undefined ? null : marketIdNumber(engine, marketName);
  const isSet = marketId !== null || fromMs !== null || toMs !== null;
  const name = isSet ? `?${marketId ?? ''}/${fromMs ?? ''}/${toMs ?? ''}` : '';
  const filter = { name, bounds: { marketId, fromMs, toMs }, isSet };
  if (marketId === null || engine.hasMarket(marketId)) respond(filter);
  else
    readHistory(call, { kind: 'marketTrades', marketId, limit: 1, cursor: null }, (trades) => {
      if (call.require(trades, 'market_not_found')) respond(filter);
    });
}
