/**
 * The output of the replay tool: answers to standard output, findings and notices to standard
 * error. Text is written in large pieces at the reader's pace, which bounds memory.
 *
 * Always holds: an answer is written only after the journal behind it is verified (`release`).
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

  json(value: JsonValue): void {
    this.unproven += `${jsonText(value)}\n`;
  }

  notice(text: string): void {
    this.notices.write(`${text}\n`);
  }

  /** Releases the text so far, and writes it if there is enough. */
  async release(): Promise<void> {
    this.released += this.unproven;
    this.unproven = '';
    if (this.released.length >= PIECE_LENGTH) await this.flush();
  }

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
  /** ">" marks a column of numbers, which is aligned at the decimal point. */
  heads: readonly string[];
  rows: readonly (readonly string[])[];
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
    table.push(
      row.map((cell, i) => (isNumber[i] ? cell + ' '.repeat(places[i]! - placesOf(cell)) : cell)),
    );
  }
  const hidden = rows.length - shown.length;
  const more = hidden === 0 ? '' : `(${hidden} more; --limit 0 shows all)\n`;
  return `${title}\n${rows.length === 0 ? '(none)' : table.toString()}\n${more}`;
}

/** The number of characters from the decimal point on. */
function placesOf(cell: string): number {
  const pointAt = cell.indexOf('.');
  return pointAt < 0 ? 0 : cell.length - pointAt;
}
