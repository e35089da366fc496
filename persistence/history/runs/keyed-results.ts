/**
 * The results of commands with a new idempotency key. They answer a repeated key after the engine
 * has dropped the result.
 *
 * Invariant: a result is read as the integers that the engine made, or a HistoryDamage names the
 * row.
 */
import { NumberBuffer, readNumbers, writeNumbers } from '../../../engine/storage/number-buffer.js';
import { checkedValue, type ValueRow } from '../rows.js';

/** A table of the catalogue. */
export const KEYED_RESULT = { name: 'keyedResult', key: 'sequence', type: 'BLOB' } as const;

/** This many fit into a page of 16 KiB. A longer result has a row of its own. */
const ROW_WORDS = 4_000;
/** Before a result: its sequence less the row's sequence, and the number of its words. */
const HEAD_WORDS = 2;

export interface ResultsRow {
  /** The sequence of the first result. */
  sequence: number;
  results: Buffer;
}

/** The results that wait for the next transaction. */
export class PendingResults {
  private rows: ResultsRow[] = [];
  private words = new Int32Array(ROW_WORDS);
  private length = 0;
  private first = 0;

  /** The number of list entries with about as many bytes. */
  get count(): number {
    return this.rows.length * (ROW_WORDS / 16);
  }

  add(sequence: number, result: NumberBuffer): void {
    const most = HEAD_WORDS + 2 * result.length;
    if (this.length + most > this.words.length) {
      this.endRow();
      if (most > this.words.length) this.words = new Int32Array(most);
    }
    const { words, length } = this;
    if (length === 0) this.first = sequence;
    words[length] = sequence - this.first;
    this.length = writeNumbers(words, length + HEAD_WORDS, result);
    words[length + 1] = this.length - length - HEAD_WORDS;
    if (this.length > ROW_WORDS) this.endRow();
  }

  drain(): ResultsRow[] {
    this.endRow();
    const { rows } = this;
    this.rows = [];
    if (this.words.length > ROW_WORDS) this.words = new Int32Array(ROW_WORDS);
    return rows;
  }

  private endRow(): void {
    if (this.length === 0) return;
    const bytes = new Uint8Array(this.words.buffer, 0, this.length * Int32Array.BYTES_PER_ELEMENT);
    this.rows.push({ sequence: this.first, results: Buffer.from(bytes) });
    this.length = 0;
  }
}

/**
 * The result of a command, from the row that would have it; null if it is not there.
 * @throws HistoryDamage
 */
export function resultIn(row: ValueRow<Buffer>, sequence: number): Float64Array | null {
  const first = row.key;
  const words = new Int32Array(new Uint8Array(checkedValue(KEYED_RESULT, row)).buffer);
  for (let at = 0; at < words.length; at += HEAD_WORDS + words[at + 1]!) {
    if (first + words[at]! !== sequence) continue;
    const numbers = new NumberBuffer();
    const from = at + HEAD_WORDS;
    readNumbers(words.subarray(from, from + words[at + 1]!), numbers);
    return numbers.values.slice(0, numbers.length);
  }
  return null;
}
