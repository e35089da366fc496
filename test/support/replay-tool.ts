/**
 * Runs the replay tool's command line in this process, which is fast. replay.test.ts proves that
 * the built program (programs.ts) prints the same.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { run } from '../../persistence/tools/replay/command-line.js';

export interface ToolRun {
  status: number;
  out: string;
  err: string;
}

class Pipe extends Writable {
  text = '';

  override _write(bytes: Buffer, _encoding: string, done: () => void): void {
    this.text += bytes.toString();
    done();
  }
}

/** Runs a command of the tool on a data folder, in this process. */
export function replayTool(folder: string, ...args: string[]): Promise<ToolRun> {
  return runTool('--data', folder, ...args);
}

export async function runTool(...args: string[]): Promise<ToolRun> {
  const [answers, notices] = [new Pipe(), new Pipe()];
  // The tool never calls the methods of a terminal on a pipe.
  const asOutput = (pipe: Pipe) => pipe as unknown as NodeJS.WriteStream;
  const status = await run(args, { answers: asOutput(answers), notices: asOutput(notices) });
  return { status, out: answers.text, err: notices.text };
}

/** The objects that a command prints with --json; it must exit with 0. */
// biome-ignore lint/suspicious/noExplicitAny: tests read only the fields they expect
export async function replayLines(folder: string, ...args: string[]): Promise<any[]> {
  return linesOf(goodOutput(await replayTool(folder, ...args, '--json')));
}

/** The last of these objects, which sums up the command. */
// biome-ignore lint/suspicious/noExplicitAny: as above
export async function replayJson(folder: string, ...args: string[]): Promise<any> {
  return (await replayLines(folder, ...args)).at(-1);
}

// biome-ignore lint/suspicious/noExplicitAny: as above
export function linesOf(out: string): any[] {
  return out
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}

/** The objects of a type, without it. */
// biome-ignore lint/suspicious/noExplicitAny: as above
export function ofType(lines: readonly any[], wanted: string): any[] {
  return lines.filter(({ type }) => type === wanted).map(({ type: _, ...fields }) => fields);
}

export function goodOutput({ status, out, err }: ToolRun): string {
  if (status !== 0 || err !== '') throw new Error(`status ${status}: ${err}`);
  return out;
}

/**
 * Traces that any write to the folder would change: names, sizes, times, contents, and the folder's
 * own time.
 */
export function traceOf(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();
  return ['.', ...entries].map((name) => {
    const path = join(folder, name);
    const stats = statSync(path, { bigint: true });
    const hash = stats.isFile()
      ? createHash('sha256').update(readFileSync(path)).digest('hex')
      : 'folder';
    return `${name} ${stats.size} ${stats.mtimeNs} ${stats.ino} ${hash}`;
  });
}
