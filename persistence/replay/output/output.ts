/**
 * Where the replay tool writes: answers to standard output, findings and notices to standard error. Text is gathered
 * and written in large pieces, at the reader's pace, so that a slow reader bounds memory and not the other way round.
 *
 * Always holds: nothing of an answer goes out before it is released, which is when what it says is proven.
 */
import type { Writable } from 'node:stream';
import Table from 'cli-table3';
import { type JsonValue, jsonText } from './json-values.js';

const PIECE_LENGTH = 1 << 16;

export class Output {
  private unproven = '';
  private released = '';

  constructor(
    private readonly answers: Writable,
    private readonly notices: Writable,
  ) {}

  text(text: string): void {
    this.unproven += text;
  }

  line(text: string): void {
    this.unproven += `${text}\n`;
  }

  /** One JSON value on a line of its own. */
  json(value: JsonValue): void {
    this.unproven += `${jsonText(value)}\n`;
  }

  /** To standard error, at once. */
  notice(text: string): void {
    this.notices.write(`${text}\n`);
  }

  /** All so far may go out; it does if enough has gathered. */
  async release(): Promise<void> {
    this.released += this.unproven;
    this.unproven = '';
    if (this.released.length >= PIECE_LENGTH) await this.flush();
  }

  /** Writes all that is released. */
  async flush(): Promise<void> {
    const text = this.released;
    this.released = '';
    if (text === '') return;
    await new Promise<void>((resolve, reject) => {
      this.answers.write(text, (error) => (error ? reject(error) : resolve()));
    });
  }
}

export interface TableText {
  title: string;
  /** Heads that begin with ">" stand over columns of numbers, which are aligned at the decimal point. */
  heads: readonly string[];
  rows: readonly (readonly string[])[];
  /** Rows beyond this are only counted. */
  limit: number;
}

export function tableText({ title, heads, rows, limit }: TableText): string {
  const shown = rows.slice(0, Math.min(limit, rows.length));
  const isNumber = heads.map((head) => head.startsWith('>'));
  const places = heads.map((_, column) =>
    shown.reduce((most, row) => Math.max(most, placesOf(row[column]!)), 0),
  );
  const table = new Table({
    head: heads.map((head) => head.replace(/^>/, '')),
    colAligns: isNumber.map((is) => (is ? 'right' : 'left')),
    style: { head: [], border: [], compact: true },
  });
  for (const row of shown) {
    table.push(row.map((cell, i) => (isNumber[i] ? cell + ' '.repeat(places[i]! - placesOf(cell)) : cell)));
  }
  const hidden = rows.length - shown.length;
  const more = hidden === 0 ? '' : `(${hidden} more; --limit 0 shows all)\n`;
  return `${title}\n${rows.length === 0 ? '(none)' : table.toString()}\n${more}`;
}

/** Characters from the decimal point on. */
function placesOf(cell: string): number {
  const pointAt = cell.indexOf('.');
  return pointAt < 0 ? 0 : cell.length - pointAt;
}
