/**
 * The outcome of a command that has reached the engine. Usually it is the engine's result. The
 * history has the result of a repeated key that the engine has forgotten (recalled.ts), and
 * explains the refusal of a command in a past market (explained.ts).
 */
import type { Command } from '../../engine/interface/commands.js';
import type { NumberBuffer } from '../../engine/storage/number-buffer.js';
import type { Asker } from './asking.js';
import { type Explained, explain, mayNeedExplanation, questionsIn } from './explained.js';
import { isForgotten, recall } from './recalled.js';
import type { ReceiptWriter } from './receipt.js';

export interface Conclusion {
  /** Valid until the next command, unless the history gave it. */
  result: NumberBuffer;
  /** The answer that replaces the result; null: the result is the answer. */
  explained: Explained | null;
  /** Whether the command was executed before, and not now. */
  isReplayed: boolean;
}

export interface Concluding {
  asker: Asker;
  /** Reads the command; called before the next one. */
  read: () => Command;
  /** Writes the receipt, here only of a batch whose refusals are explained. */
  receipt: ReceiptWriter<string | Uint8Array>;
  /** Called before the history is asked, at most once: the answer comes in a later turn. */
  onWait?: () => void;
}

/**
 * Calls `answer` with the conclusion: immediately, or in a later turn unless the client leaves.
 */
export function conclude(
  result: NumberBuffer,
  concluding: Concluding,
  answer: (conclusion: Conclusion) => void,
): void {
  const { asker, read, receipt, onWait } = concluding;
  if (!isForgotten(result)) {
    answerFound(result, asker.gateway.sequencer.engine.replayed, concluding, answer);
    return;
  }
  const command = read();
  onWait?.();
  const later = { asker, read: () => command, receipt };
  recall(asker, result, (found) => answerFound(found, !isForgotten(found), later, answer));
}

function answerFound(
  result: NumberBuffer,
  isReplayed: boolean,
  { asker, read, receipt, onWait }: Concluding,
  answer: (conclusion: Conclusion) => void,
): void {
  if (mayNeedExplanation(result)) {
    const command = read();
    const questions = questionsIn(result, command);
    if (questions.length > 0) {
      onWait?.();
      const refused = { result, command, receipt };
      explain(asker, refused, questions, (explained) => answer({ result, explained, isReplayed }));
      return;
    }
  }
  answer({ result, explained: null, isReplayed });
}
