/**
 * What a request is told about a market that has ended and that the engine may have forgotten: what
 * became of it, and of a claim that was paid. The history says so.
 *
 * Always holds: 404 `market_not_found` is said only of a market that never was, or while the
 * history is unavailable.
 */
import type { CodeName } from '../../engine/interface/codes.js';
import type { Command } from '../../engine/interface/commands.js';
import { assetOfMarket, startOfMarketMs } from '../../engine/interface/domain.js';
import { resolutionName, statusName } from '../../engine/interface/notation.js';
import type { MarketView } from '../../engine/interface/views.js';
import { viewOfPast } from '../../persistence/history/requests.js';
import type { Call } from '../http/call.js';
import { type ErrorAnswer, type ErrorCode, errorAnswer } from '../http/errors.js';
import { microsText } from '../json/decimal.js';
import { readHistory } from './history/read.js';

/** 409 for a market that has ended. */
export function endedAnswer(
  market: MarketView,
  code: ErrorCode = 'market_not_active',
): ErrorAnswer {
  const { status, endsAtMs, resolvedAtMs } = market;
  const resolution = resolutionName(market.resolution);
  const became =
    resolution === null
      ? 'It is not resolved yet.'
      : resolution === 'VOID'
        ? 'It is VOID, and its shares and fees were paid back.'
        : `${resolution} won.`;
  const message = `${code === 'nothing_to_claim' ? 'There is nothing to claim' : 'The market has ended'}. ${became}`;
  const details = { status: statusName(status), resolution, endsAtMs, resolvedAtMs };
  return errorAnswer(code, details, message);
}

/** Answers about a market that the engine does not have. `code`: if there was one. */
export function refuseWithoutMarket(
  call: Call,
  marketId: number,
  code: ErrorCode = 'market_not_active',
): void {
  const unknown = () => void call.refuseWhenDurable(errorAnswer('market_not_found'));
  if (marketId === 0) {
    unknown();
    return;
  }
  const startsAtMs = startOfMarketMs(marketId);
  const page = { limit: 1, cursor: null, fromMs: startsAtMs, toMs: startsAtMs };
  const request = { kind: 'pastMarkets', asset: assetOfMarket(marketId), ...page } as const;
  const respond = ({ entries: [market] }: { entries: Parameters<typeof viewOfPast>[0][] }) => {
    if (market === undefined) unknown();
    else call.refuseWhenDurable(endedAnswer(viewOfPast(market), code));
  };
  readHistory(call, request, respond, unknown);
}

/**
 * Answers a command about one market that the engine refused because that is over. Returns false if
 * it was refused for something else.
 */
export function refuseEnded(call: Call, code: CodeName, command: Command): boolean {
  if (!('marketId' in command) || command.marketId === null) return false;
  const { marketId } = command;
  const isClaim = command.kind === 'claim';
  if (code !== 'market_not_found' && !(isClaim && code === 'nothing_to_claim')) return false;
  if (isClaim) refuseClaim(call, code, command);
  else refuseWithoutMarket(call, marketId);
  return true;
}

function refuseClaim(call: Call, code: CodeName, command: Command & { kind: 'claim' }): void {
  const { userId, marketId } = command;
  const otherwise = () => {
    if (code === 'market_not_found') refuseWithoutMarket(call, marketId, 'nothing_to_claim');
    else call.refuseWhenDurable(errorAnswer('nothing_to_claim'));
  };
  readHistory(
    call,
    { kind: 'payment', userId, marketId },
    (paid) => {
      if (paid === null) otherwise();
      else call.refuseWhenDurable(paidAnswer(paid));
    },
    otherwise,
  );
}

function paidAnswer(paid: { atMs: number; amountMicros: number; automatic: boolean }): ErrorAnswer {
  const amount = microsText(paid.amountMicros);
  const by = paid.automatic ? 'automatic' : 'user';
  const how = paid.automatic ? 'by the exchange, a day after the result' : 'when you claimed it';
  return errorAnswer(
    'already_paid',
    { paidAtMs: paid.atMs, amount: JSON.rawJSON(amount), by },
    `$${amount} was paid already, ${how}.`,
  );
}
