import { type ListLayout, runChecksum } from '../../../persistence/history/runs/format.js';
import type { RunRow } from '../../../persistence/history/runs/reader.js';
import { RunWriter } from '../../../persistence/history/runs/writer.js';
import { ByteWriter } from '../../../persistence/storage/bytes.js';

export type Values = Record<string, number>;

/** A run as stored in the database. */
export function runOf(
  layout: ListLayout,
  id: number,
  firstOrdinal: number,
  entries: readonly Values[],
): RunRow {
  const writer = new RunWriter(layout);
  const bytes = new ByteWriter(16);
  writer.begin();
  for (const entry of entries) {
    writer.append(
      bytes,
      Float64Array.from(layout.columns, (column) => entry[column]!),
      0,
    );
  }
  const written = Buffer.from(bytes.buffer.subarray(0, bytes.length));
  const count = entries.length;
  const checksum = runChecksum(layout.list, { id, firstOrdinal, count, deflated: 0 }, written);
  return { id, firstOrdinal, count, deflated: 0, checksum, entries: written };
}
