/**
 * Explains refusals in ended markets, which the engine may have removed: the history provides the
 * market's outcome, or the claim that was already paid.
 *
 * Invariant: 404 `market_not_found` means that the market never existed. If the history is
 * unavailable, the response is 503. A command asks its questions one after another, for at most 2 s
 * in total, and its user pays for a read per question.
 */
import { CODES, Code, type CodeName } from '../../engine/interface/codes.js';
import { type BatchOperation, type Command, CommandKind } from '../../engine/interface/commands.js';
import { assetOfMarket, startOfMarketMs } from '../../engine/interface/domain.js';
import { resolutionName, statusName } from '../../engine/interface/notation.js';
import {
  FIRST_OPERATION,
  nextOperation,
  RESULT_HEAD_LENGTH,
  ResultHead,
} from '../../engine/interface/results.js';
import type { MarketView } from '../../engine/interface/views.js';
import type { NumberBuffer } from '../../engine/storage/number-buffer.js';
import { HISTORY_LAG_MAX_MS } from '../../persistence/follower/history-client.js';
import { viewOfPast } from '../../persistence/history/requests.js';
import { microsText } from '../json/decimal.js';
import { elapsedMs } from '../observe/clock.js';
import { type ErrorAnswer, type ErrorCode, errorAnswer } from './errors.js';
import { isAtomicBatch, refusalIn } from './execution.js';
import { chargeRead, type HistoryReader, queryHistory } from './history-query.js';
import type { ReceiptWriter } from './receipt.js';
import { copyOf } from './stored-result.js';

type Besides = Record<string, unknown>;

export function endedAnswer(
  market: MarketView,
  code: ErrorCode = 'market_not_active',
  besides: Besides = {},
): ErrorAnswer {
  const { status, endsAtMs, resolvedAtMs } = market;
  const resolution = resolutionName(market.resolution);
  const became =
    resolution === null
      ? 'It is not resolved yet.'
      : resolution === 'VOID'
        ? 'It is VOID: each share paid half a dollar, and the fees were refunded.'
        : `${resolution} won.`;
  const message = `${code === 'nothing_to_claim' ? 'There is nothing to claim' : 'The market has ended'}. ${became}`;
  const details = { ...besides, status: statusName(status), resolution, endsAtMs, resolvedAtMs };
  return errorAnswer(code, details, message);
}

type Respond = (error: ErrorAnswer | null) => void;

export function historyUnavailableError(besides: Besides): ErrorAnswer {
  const message =
    'Nothing was executed. The result of the market cannot be read now, or your reads are used up. Try again.';
  return errorAnswer('history_unavailable', { ...besides, executed: false }, message);
}

/** Asks the history about a market. `code` is the error to return if the market existed. */
export function queryPastMarket(
  reader: HistoryReader,
  marketId: number,
  code: ErrorCode,
  besides: Besides,
  respond: Respond,
): void {
  const unknown = () => respond(errorAnswer('market_not_found', besides));
  if (marketId === 0) {
    unknown();
    return;
  }
  const startsAtMs = startOfMarketMs(marketId);
  const page = { limit: 1, cursor: null, fromMs: startsAtMs, toMs: startsAtMs };
  const request = { kind: 'pastMarkets', asset: assetOfMarket(marketId), ...page } as const;
  const found = ({ entries: [market] }: { entries: Parameters<typeof viewOfPast>[0][] }) => {
    if (market === undefined) unknown();
    else respond(endedAnswer(viewOfPast(market), code, besides));
  };
  queryHistory(reader, request, found, () => respond(null));
}

interface Refused {
  result: NumberBuffer;
  command: Command;
  receipt: ReceiptWriter<string | Uint8Array>;
}

interface Question {
  /** Indices of the operations, or -1 for the whole command. */
  indices: number[];
  code: CodeName;
  operation: (Command | BatchOperation) & { marketId: number };
}

export interface ExplainedResult {
  status: number;
  text: string | Uint8Array;
}

export function explainRefusals(
  reader: HistoryReader,
  { result, command, receipt }: Refused,
  questions: readonly Question[],
  answer: (explained: ExplainedResult) => void,
): void {
  const after = readerAfter(reader, result.values[ResultHead.sequence]!);
  const isWhole = command.kind !== 'batch' || command.atomic;
  const kept = isWhole ? null : copyOf(result);
  const errors = new Map<number, ErrorAnswer>();
  const untilMs = elapsedMs() + HISTORY_LAG_MAX_MS;
  const askFrom = (at: number): void => {
    const question = questions[at];
    if (question === undefined) {
      const { engine } = reader.gateway.sequencer;
      answer(
        kept === null
          ? errors.get(questions[0]!.indices[0]!)!
          : { status: 200, text: receipt(engine, kept, 0, command, errors) },
      );
      return;
    }
    const index = question.indices[0]!;
    const besides = isWhole && index >= 0 ? { operation: index } : {};
    const respond = (said: ErrorAnswer | null) => {
      // Once one question fails, the remaining ones are not asked and count as failed.
      for (const { indices } of said === null ? questions.slice(at) : [question])
        for (const each of indices) errors.set(each, said ?? historyUnavailableError(besides));
      askFrom(said === null ? questions.length : at + 1);
    };
    if (elapsedMs() > untilMs) respond(null);
    else ask(after, question, besides, respond);
  };
  askFrom(0);
}

/** A reader that sees the command's own effects, because a batch may claim twice. */
function readerAfter(reader: HistoryReader, sequence: number): HistoryReader {
  const { gateway, session, address } = reader;
  return {
    gateway,
    session,
    address,
    minSequence: sequence,
    get isOver() {
      return reader.isOver;
    },
    set onLeft(leave: HistoryReader['onLeft']) {
      reader.onLeft = leave;
    },
  };
}

/** Not `market_not_active`: the outcome may still change, but a repeated key's answer must not. */
const OF_ENDED: readonly number[] = [Code.market_not_found, Code.nothing_to_claim];

/** If false, the caller need not parse the command. */
export function mayNeedExplanation({ values }: NumberBuffer): boolean {
  if (values[ResultHead.code] !== Code.ok) return OF_ENDED.includes(values[ResultHead.code]!);
  if (values[ResultHead.kind] !== CommandKind.batch) return false;
  const count = values[RESULT_HEAD_LENGTH]!;
  for (let i = 0, at = FIRST_OPERATION; i < count; i++, at = nextOperation(values, at))
    if (OF_ENDED.includes(values[at + ResultHead.code]!)) return true;
  return false;
}

export function questionsIn(result: NumberBuffer, command: Command): Question[] {
  const { values } = result;
  if (command.kind !== 'batch') return questionOf(-1, CODES[values[ResultHead.code]!]!, command);
  if (values[ResultHead.code] !== Code.ok) return [];
  if (command.atomic) {
    const refusal = refusalIn(result, isAtomicBatch(command));
    if (refusal?.operation == null || refusal.code === 'unavailable') return [];
    return questionOf(refusal.operation, refusal.code, command.operations[refusal.operation]!);
  }
  let at = FIRST_OPERATION;
  const distinct = new Map<string, Question>();
  for (const [index, operation] of command.operations.entries()) {
    const code = CODES[values[at + ResultHead.code]!]!;
    at = nextOperation(values, at);
    for (const question of questionOf(index, code, operation)) {
      const { kind, marketId } = question.operation;
      const key = `${marketId} ${code} ${kind === 'claim'}`;
      const same = distinct.get(key);
      if (same === undefined) distinct.set(key, question);
      else same.indices.push(index);
    }
  }
  return [...distinct.values()];
}

function questionOf(
  index: number,
  code: CodeName,
  operation: Command | BatchOperation,
): Question[] {
  if (!('marketId' in operation) || !operation.marketId) return [];
  const isClaim = operation.kind === 'claim' && code === 'nothing_to_claim';
  if (code !== 'market_not_found' && !isClaim) return [];
  return [{ indices: [index], code, operation: operation as Question['operation'] }];
}

function ask(
  reader: HistoryReader,
  { code, operation }: Question,
  besides: Besides,
  respond: Respond,
): void {
  const { marketId } = operation;
  if (!chargeRead(reader)) {
    respond(null);
    return;
  }
  if (operation.kind !== 'claim') {
    queryPastMarket(reader, marketId, 'market_not_active', besides, respond);
    return;
  }
  const otherwise = () => {
    if (code === 'nothing_to_claim') respond(errorAnswer('nothing_to_claim', besides));
    else if (chargeRead(reader))
      queryPastMarket(reader, marketId, 'nothing_to_claim', besides, respond);
    else respond(null);
  };
  const request = { kind: 'payment', userId: operation.userId, marketId } as const;
  queryHistory(
    reader,
    request,
    (paid) => (paid === null ? otherwise() : respond(paidAnswer(paid, besides))),
    () => respond(null),
  );
}

function paidAnswer(
  paid: { atMs: number; amountMicros: number; automatic: boolean },
  besides: Besides,
): ErrorAnswer {
  const amount = microsText(paid.amountMicros);
  const by = paid.automatic ? 'automatic' : 'user';
  const how = paid.automatic ? 'by the exchange, without a claim' : 'when you claimed it';
  return errorAnswer(
    'already_paid',
    { ...besides, paidAtMs: paid.atMs, amount: JSON.rawJSON(amount), by },
    `$${amount} has already been paid, ${how}.`,
  );
}
