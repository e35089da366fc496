/** HTTP answers to refused operations in ended markets, with the market's outcome from history. */
import type { Command } from '../../../engine/interface/commands.js';
import type { NumberBuffer } from '../../../engine/storage/number-buffer.js';
import type { Call } from '../../http/call.js';
import { explanationOf, mayNeedExplanation } from '../ended-market.js';
import { explainedBatch } from './receipts.js';

export function explains(call: Call, result: NumberBuffer, command: Command): boolean {
  if (!mayNeedExplanation(result)) return false;
  const operations = command.kind === 'batch' ? command.operations : [];
  const explain = explanationOf(call, result, command, (kept, errors) =>
    explainedBatch(call.engine, kept, operations, errors),
  );
  explain?.(({ status, text }) => call.answerWhenDurable(status, text));
  return explain !== null;
}
