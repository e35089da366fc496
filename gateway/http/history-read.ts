/** What routes have in common that read the history or name an asset. */
import type { HistoryAnswers, HistoryKind, RequestOf } from '../../persistence/history-requests.js';
import type { Call } from './call.js';
import { errorAnswer, invalidRequest } from './errors.js';

/**
 * Asks the history and answers with what `write` makes of it; null from `write`: there is no such market. An answer is at
 * a sequence that is durable, but what `write` reads from the engine may be newer, so the call waits for that.
 */
export function readHistory<Kind extends HistoryKind>(
  call: Call<unknown, unknown>,
  request: RequestOf<Kind>,
  write: (answer: HistoryAnswers[Kind], sequence: number) => string | null,
): void {
  const { gateway } = call;
  if (gateway.history === null) {
    call.refuse(errorAnswer('unavailable', { executed: false }));
    return;
  }
  gateway.history.read(request, gateway.sequencer.durableSequence, (outcome) => {
    if (call.isOver) return;
    if (outcome.outcome === 'unavailable') {
      gateway.warnings.warn({ reason: outcome.reason }, 'a read of the history was refused');
      call.refuse(errorAnswer('unavailable', { executed: false }));
      return;
    }
    try {
      const text = write(outcome.answer, outcome.sequence);
      if (text === null) call.answerError(errorAnswer('market_not_found'));
      else call.answer(200, text);
    } catch (error) {
      gateway.fail(error);
    }
  });
}

/** Whether an asset is listed; if not, the client has been told. */
export function isListed(call: Call<unknown, unknown>, symbol: string): boolean {
  const { engine } = call;
  if (engine.findAsset(symbol) >= 0) return true;
  const symbols = Array.from({ length: engine.assetCount }, (_, asset) => engine.assetSymbol(asset));
  call.refuse(invalidRequest({ asset: `is not listed; the assets are ${symbols.join(', ')}` }));
  return false;
}
