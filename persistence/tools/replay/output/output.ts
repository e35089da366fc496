/**
 * The output of the replay tool: objects, each with a type, to standard output, as JSON lines or as
 * text for people (printer.ts); findings and notices to standard error. The last object of a
 * command sums it up. Writing large pieces at the reader's pace bounds the memory.
 *
 * Invariant: an object is written only after the journal behind it is verified (`release`).
 */
import type { Writable } from 'node:stream';
import { type Finding, findingText } from './findings.js';
import { textOf } from './printer.js';
import { type JsonObject, jsonText } from './units.js';

const PIECE_LENGTH = 1 << 16;

export class Output {
  private unproven: JsonObject[] = [];
  private released = '';

  constructor(
    private readonly answers: Writable,
    private readonly notices: Writable,
    private readonly isJson: boolean,
  ) {}

  emit(type: string, fields: JsonObject): void {
    this.unproven.push({ type, ...fields });
  }

  finding(finding: Finding): void {
    if (this.isJson) this.emit('finding', finding);
    this.notice(findingText(finding));
  }

  notice(text: string): void {
    this.notices.write(`${text}\n`);
  }

  /** Releases the objects so far, and writes them if there are enough. */
  async release(): Promise<void> {
    const objects = this.unproven;
    this.unproven = [];
    if (this.isJson) for (const object of objects) this.released += `${jsonText(object)}\n`;
    else this.released += textOf(objects);
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
