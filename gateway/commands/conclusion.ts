/**
 * What came of a command that has reached the engine: the engine's result; the result of its first
 * execution, if its key was used before; or, if its market has ended, what the history knows of it.
 */
import type { Command } from '../../engine/interface/commands.js';
import type { NumberBuffer } from '../../engine/storage/number-buffer.js';
import type { Asker } from './asking.js';
import { type Explained, explanationOf, mayNeedExplanation } from './explained.js';
import { isForgotten, recall } from './recalled.js';
import type { ReceiptWriter } from './receipt.js';

export interface Conclusion {
  /** Valid until the next command, unless the history gave it. */
  result: NumberBuffer;
  /** What is answered in place of the result; null: nothing. */
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

/** Calls `answer` with the conclusion: at once, or in a later turn unless the client leaves. */
export function conclude(
  result: NumberBuffer,
  { asker, read, receipt, onWait }: Concluding,
  answer: (outcome: Conclusion) => void,
): void {
  const explain = (found: NumberBuffer, isReplayed: boolean, wait: (() => void) | undefined) => {
    const ask = mayNeedExplanation(found) ? explanationOf(asker, found, read(), receipt) : null;
    if (ask === null) answer({ result: found, explained: null, isReplayed });
    else {
      wait?.();
      ask((explained) => answer({ result: found, explained, isReplayed }));
    }
  };
  if (!isForgotten(result)) {
    explain(result, asker.gateway.sequencer.engine.replayed, onWait);
    return;
  }
  const command = read();
  read = () => command;
  onWait?.();
  recall(asker, result, (found) => explain(found, !isForgotten(found), undefined));
}
