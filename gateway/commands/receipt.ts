/** Command receipts depend only on result, command and permanent names: replays are identical. */
import type { z } from 'zod';
import type { Command, CommandName, CommandOf } from '../../engine/interface/commands.js';
import type { Assets } from '../../engine/interface/notation.js';
import { RESULT_FIELDS, RESULT_HEAD_LENGTH, ResultHead } from '../../engine/interface/results.js';
import type { NumberBuffer } from '../../engine/storage/number-buffer.js';
import { type From, Writer } from '../json/writer.js';
import type { ErrorAnswer } from './errors.js';

/**
 * The bytes returned must not change later. A replayed `result` belongs to a command equal to
 * `command`. `errors` replaces the engine's errors of batch operations, by index.
 */
export type ReceiptWriter<Text extends string | Uint8Array = string> = (
  assets: Assets,
  result: NumberBuffer,
  at: number,
  command: Command,
  errors?: ReadonlyMap<number, ErrorAnswer>,
) => Text;

type Fields<K extends CommandName> = Record<
  (typeof RESULT_FIELDS)[K][number] | 'sequence' | 'atMs',
  number
>;

/** Not for the hot path. */
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

export type ReceiptSource<K extends CommandName> = Fields<K> & {
  command: CommandOf<K>;
  cancelled: string[];
};

export function receiptOf<K extends CommandName>(
  kind: K,
  schema: z.ZodObject,
  from: From<ReceiptSource<K>, Assets> = {},
): ReceiptWriter {
  const names: readonly string[] = RESULT_FIELDS[kind];
  const known = [...names, 'sequence', 'atMs', 'command', 'cancelled'];
  const { text } = new Writer<ReceiptSource<K>>(schema, from, known);
  const listAt = RESULT_HEAD_LENGTH + names.length;
  const hasList = names.at(-1) === 'cancelledOrders';
  return (assets, result, at, command) => {
    const source = resultFields(kind, result, at) as ReceiptSource<K>;
    source.command = command as CommandOf<K>;
    if (hasList) {
      const { cancelledOrders } = source as { cancelledOrders?: number };
      const ids = result.values.subarray(at + listAt, at + listAt + cancelledOrders!);
      source.cancelled = Array.from(ids, (orderId) => `o${orderId}`);
    }
    return text(source, assets);
  };
}
