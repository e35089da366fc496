/** Reads the history for a request. */
import type {
  HistoryAnswers,
  HistoryKind,
  RequestOf,
} from '../../../persistence/history/requests.js';
import type { RequestContext } from '../../http/request-context.js';

/**
 * Reads the history. An answer is consistent at its sequence, which is not before the sequence that
 * was durable when the request came. `refuse`: answers if the history is unavailable.
 */
export function readHistory<Kind extends HistoryKind>(
  call: RequestContext<unknown, unknown>,
  request: RequestOf<Kind>,
  respond: (answer: HistoryAnswers[Kind], sequence: number) => void,
  refuse = () => call.refuseUnavailable(),
): void {
  const { gateway } = call;
  if (gateway.history === null) {
    refuse();
    return;
  }
  gateway.history.read(request, gateway.sequencer.durableSequence, (outcome) => {
    if (call.isOver) return;
    if (outcome.outcome === 'unavailable') {
      gateway.warnings.warn({ reason: outcome.reason }, 'a read of the history was refused');
      refuse();
      return;
    }
    try {
      respond(outcome.answer, outcome.sequence);
    } catch (error) {
      gateway.fail(error);
    }
  });
}
