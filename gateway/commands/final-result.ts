/**
 * Turns the engine's result into the final outcome, usually unchanged. The history provides the
 * result of a forgotten key (stored-result.ts), and explains a refusal in a past market
 * (past-market-errors.ts).
 */
import type { Command } from '../../engine/interface/commands.js';
import type { NumberBuffer } from '../../engine/storage/number-buffer.js';
import type { HistoryReader } from './history-query.js';
import {
  type ExplainedResult,
  explainRefusals,
  mayNeedExplanation,
  questionsIn,
} from './past-market-errors.js';
import type { ReceiptWriter } from './receipt.js';
import { isResultEvicted, loadStoredResult } from './stored-result.js';

export interface FinalResult {
  /** The result, valid until the next command unless it came from the history. */
  result: NumberBuffer;
  explained: ExplainedResult | null;
  isReplayed: boolean;
}

export interface FinalizeOptions {
  reader: HistoryReader;
  read: () => Command;
  /** Writes the receipt. Used here only for a batch with explained refusals. */
  receipt: ReceiptWriter<string | Uint8Array>;
  /** Called at most once, before the history is asked. The answer then comes in a later turn. */
  onWait?: () => void;
}

/** Calls `answer` now, or in a later turn unless the client leaves. */
export function finalizeResult(
  result: NumberBuffer,
  options: FinalizeOptions,
  answer: (finalResult: FinalResult) => void,
): void {
  const { reader, read, receipt, onWait } = options;
  if (!isResultEvicted(result)) {
    answerFound(result, reader.gateway.sequencer.engine.replayed, options, answer);
    return;
  }
  const command = read();
  onWait?.();
  const later = { reader, read: () => command, receipt };
  loadStoredResult(reader, result, (found) =>
    answerFound(found, !isResultEvicted(found), later, answer),
  );
}

function answerFound(
  result: NumberBuffer,
  isReplayed: boolean,
  { reader, read, receipt, onWait }: FinalizeOptions,
  answer: (finalResult: FinalResult) => void,
): void {
  if (mayNeedExplanation(result)) {
    const command = read();
    const questions = questionsIn(result, command);
    if (questions.length > 0) {
      onWait?.();
      const refused = { result, command, receipt };
      explainRefusals(reader, refused, questions, (explained) =>
        answer({ result, explained, isReplayed }),
      );
      return;
    }
  }
  answer({ result, explained: null, isReplayed });
}
