/** Counts of commands and batch operations, by kind and result code. */
import { CODES, Code } from '../../engine/interface/codes.js';
import { CommandKind } from '../../engine/interface/commands.js';
import {
  FIRST_OPERATION,
  nextOperation,
  RESULT_HEAD_LENGTH,
  ResultHead,
} from '../../engine/interface/results.js';
import type { NumberBuffer } from '../../engine/storage/number-buffer.js';

const KINDS = Math.max(...Object.values(CommandKind)) + 1;

class Counts {
  private readonly counts = new Float64Array(KINDS * CODES.length);

  add(kind: number, code: number): void {
    this.counts[kind * CODES.length + code]!++;
  }

  *entries(): Generator<readonly [labels: { kind: string; code: string }, count: number]> {
    for (const [kind, number] of Object.entries(CommandKind)) {
      for (const [index, code] of CODES.entries()) {
        if (code === undefined) continue;
        const count = this.counts[number * CODES.length + index]!;
        if (count > 0) yield [{ kind, code }, count];
      }
    }
  }
}

export class CommandCounts {
  readonly commands = new Counts();
  readonly operations = new Counts();

  observe(result: NumberBuffer): void {
    const { values } = result;
    const kind = values[ResultHead.kind]!;
    const code = values[ResultHead.code]!;
    this.commands.add(kind, code);
    if (kind === CommandKind.batch && code === Code.ok) this.observeOperations(values);
  }

  private observeOperations(values: Float64Array): void {
    const count = values[RESULT_HEAD_LENGTH]!;
    let at = FIRST_OPERATION;
    for (let i = 0; i < count; i++, at = nextOperation(values, at)) {
      this.operations.add(values[at + ResultHead.kind]!, values[at + ResultHead.code]!);
    }
  }
}
