/**
 * The output of the replay tool: objects to standard output, as JSON or as text; findings and
 * notices to standard error. Writing large pieces at the reader's pace bounds the memory.
 *
 * Invariant: an object is written only after the journal behind it is verified (`release`).
 */
import type { Writable } from 'node:stream';
import { type Finding, findingText } from './findings.js';
import { lineText, reportText } from './printer.js';
import { isList, type JsonObject, jsonText } from './units.js';

const PIECE_LENGTH = 1 << 16;

export class Output {
  private unproven = '';
  private released = '';

  constructor(
    private readonly answers: Writable,
    private readonly notices: Writable,
  ) {}

  line(object: JsonObject, json: boolean): void {
    this.unproven += json ? `${jsonText(object)}\n` : lineText(object);
  }

  /** @param limit the most entries of a list. Default: all. */
  report(object: JsonObject, json: boolean, limit = Number.POSITIVE_INFINITY): void {
    this.unproven += json ? `${jsonText(shortened(object, limit))}\n` : reportText(object, limit);
  }

  /** A report with its findings. In text form, findings go to standard error only. */
  judgement(object: JsonObject, findings: readonly Finding[], json: boolean, limit?: number): void {
    this.report(json ? { ...object, findings } : object, json, limit);
    for (const finding of findings) this.notice(findingText(finding));
  }

  notice(text: string): void {
    this.notices.write(`${text}\n`);
  }

  /** Releases the text so far, and writes it if it is large enough. */
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

function shortened(object: JsonObject, limit: number): JsonObject {
  const fields = Object.entries(object);
  return Object.fromEntries(
    fields.map(([name, value]) => [name, isList(value) ? value.slice(0, limit) : value]),
  );
}
