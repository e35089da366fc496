/**
 * Receipts: responses to commands. A receipt depends only on the engine's result, the command and
 * permanent names, so a replayed idempotency key gets the same receipt to the byte.
 */
import type { Command, CommandName } from '../../engine/interface/commands.js';
import type { Assets } from '../../engine/interface/notation.js';
import { RESULT_FIELDS, RESULT_HEAD_LENGTH, ResultHead } from '../../engine/interface/results.js';
import type { NumberBuffer } from '../../engine/storage/number-buffer.js';
import { type Decimal, micros } from '../json/decimal.js';

/**
 * Writes the receipt of the result at `at`, which is `ok`. Bytes must not change later.
 * `command`: the command that was sent; a replayed result belongs to an equal one.
 */
export type ReceiptWriter<Text extends string | Uint8Array = string> = (
  assets: Assets,
  result: NumberBuffer,
  at: number,
  command: Command,
) => Text;

type Fields<K extends CommandName> = Record<
  (typeof RESULT_FIELDS)[K][number] | 'sequence' | 'atMs',
  number
>;

/** The fields of a result that is `ok`, by name. For receipts off the hot path. */
export function resultFields<K extends CommandName>(
  command: K,
  result: NumberBuffer,
  at = 0,
): Fields<K> {
  const fields: Record<string, number> = {
    sequence: result.values[at + ResultHead.sequence]!,
    atMs: result.values[at + ResultHead.atMs]!,
  };
  const names: readonly string[] = RESULT_FIELDS[command];
  for (let i = 0; i < names.length; i++) {
    fields[names[i]!] = result.values[at + RESULT_HEAD_LENGTH + i]!;
  }
  return fields as Fields<K>;
}

interface AccountMoney {
  availableMicros: number;
  heldMicros: number;
}

/** The ids of the orders that a result lists from `at` on. */
export function orderIdsIn({ values }: NumberBuffer, at: number, count: number): string[] {
  return Array.from(values.subarray(at, at + count), (orderId) => `o${orderId}`);
}

/** The last fields of most receipts. */
export function stateAfter(fields: AccountMoney & { sequence: number; atMs: number }) {
  const { sequence, atMs } = fields;
  return { balance: balanceOf(fields), sequence, atMs };
}

export function balanceOf({ availableMicros, heldMicros }: AccountMoney): {
  available: Decimal;
  held: Decimal;
} {
  return { available: micros(availableMicros), held: micros(heldMicros) };
}
