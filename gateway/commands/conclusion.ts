/**
 * Turns the engine's result into the final outcome, usually unchanged. The history provides the
 * result of a forgotten key (recalled.ts), and explains a refusal in a past market (explained.ts).
 */
import type { Command } from '../../engine/interface/commands.js';
import type { NumberBuffer } from '../../engine/storage/number-buffer.js';
import { type Explained, explain, mayNeedExplanation, questionsIn } from './explained.js';
import type { HistoryReader } from './history-query.js';
import { isForgotten, recall } from './recalled.js';
import type { ReceiptWriter } from './receipt.js';

export interface Conclusion {
  /** The result, valid until the next command unless it came from the history. */
  result: NumberBuffer;
  explained: Explained | null;
  isReplayed: boolean;
}

export interface Concluding {
  reader: HistoryReader;
  read: () => Command;
  /** Writes the receipt. Used here only for a batch with explained refusals. */
  receipt: ReceiptWriter<string | Uint8Array>;
  /** Called at most once, before the history is asked. The answer then comes in a later turn. */
  onWait?: () => void;
}

/** Calls `answer` now, or in a later turn unless the client leaves. */
export function conclude(
  result: NumberBuffer,
  concluding: Concluding,
  answer: (conclusion: Conclusion) => void,
): void {
  const { reader, read, receipt, onWait } = concluding;
  if (!isForgotten(result)) {
    answerFound(result, reader.gateway.sequencer.engine.replayed, concluding, answer);
    return;
  }
  const command = read();
  onWait?.();
  const later = { reader, read: () => command, receipt };
  recall(reader, result, (found) => answerFound(found, !isForgotten(found), later, answer));
}

function answerFound(
  result: NumberBuffer,
  isReplayed: boolean,
  { reader, read, receipt, onWait }: Concluding,
  answer: (conclusion: Conclusion) => void,
): void {
  if (mayNeedExplanation(result)) {
    const command = read();
    const questions = questionsIn(result, command);
    if (questions.length > 0) {
      onWait?.();
      const refused = { result, command, receipt };
      explain(reader, refused, questions, (explained) => answer({ result, explained, isReplayed }));
      return;
    }
  }
  answer({ result, explained: null, isReplayed });
}
