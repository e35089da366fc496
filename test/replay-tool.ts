/** The replay tool as the operator runs it: the built program, in a process of its own. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const TOOL = fileURLToPath(new URL('../dist/persistence/replay/main.js', import.meta.url));

export interface ToolRun {
  status: number;
  /** Standard output. */
  out: string;
  /** Standard error. */
  err: string;
}

/** Runs a verb on a data folder. */
export function replayTool(folder: string, ...args: string[]): Promise<ToolRun> {
  return runTool('--data', folder, ...args);
}

export function runTool(...args: string[]): Promise<ToolRun> {
  if (!existsSync(TOOL)) throw new Error(`${TOOL} is missing: npm run build`);
  return new Promise((resolve) => {
    const options = { maxBuffer: 256 * 1024 * 1024 };
    execFile(process.execPath, ['--enable-source-maps', TOOL, ...args], options, (error, out, err) => {
      resolve({ status: error === null ? 0 : Number(error.code ?? -1), out, err });
    });
  });
}

/** The answer of a verb with --json, which must have found all well. */
// biome-ignore lint/suspicious/noExplicitAny: the tests look at what they expect, and fail where it is not there
export async function replayJson(folder: string, ...args: string[]): Promise<any> {
  return JSON.parse(await goodOutput(folder, ...args, '--json'));
}

/** The same of a verb that prints one JSON value per line. */
// biome-ignore lint/suspicious/noExplicitAny: as above
export async function replayLines(folder: string, ...args: string[]): Promise<any[]> {
  const out = await goodOutput(folder, ...args, '--json');
  return out
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}

async function goodOutput(folder: string, ...args: string[]): Promise<string> {
  const { status, out, err } = await replayTool(folder, ...args);
  if (status !== 0 || err !== '') throw new Error(`status ${status}: ${err}`);
  return out;
}

/** Everything that would change if somebody wrote to a folder: names, sizes, times, contents, and the folder's own time. */
export function traceOf(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();
  return ['.', ...entries].map((name) => {
    const path = join(folder, name);
    const stats = statSync(path, { bigint: true });
    const hash = stats.isFile() ? createHash('sha256').update(readFileSync(path)).digest('hex') : 'folder';
    return `${name} ${stats.size} ${stats.mtimeNs} ${stats.ino} ${hash}`;
  });
}
