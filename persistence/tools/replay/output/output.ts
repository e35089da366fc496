/**
 * The output of the replay tool: answers to standard output, findings and notices to standard
 * error. Text is written in large pieces at the reader's pace, which bounds memory.
 *
 * Always holds: an answer is written only after the journal behind it is verified (`release`).
 */
import type { Writable } from 'node:stream';
import { type Report, reportText } from './report.js';
import { type JsonValue, jsonText } from './units.js';

const PIECE_LENGTH = 1 << 16;

export class Output {
  private unproven = '';
  private released = '';

  constructor(
    private readonly answers: Writable,
    private readonly notices: Writable,
  ) {}

  line(text: string): void {
    this.unproven += `${text}\n`;
  }

  /** @param limit the most rows of a table. */
  report(report: Report, json: boolean, limit = Number.POSITIVE_INFINITY): void {
    this.unproven += reportText(report, json, limit);
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
