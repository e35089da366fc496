/** Follows the advice of `doctor` to the letter, with the program's own command lines. */
import type { Step } from '../../../persistence/tools/operations/advice.js';
import { runTool } from '../replay-tool.js';
import { operate } from './operations.js';

export interface Followed {
  /** The last sequence that the advice promises to keep. */
  keeps: number;
  /** The folder to start, and whether with ACCEPT_MISSING_MARK=on. */
  folder: string;
  acceptMissingMark: boolean;
}

/** Follows the first step, into `folder`. Returns null if nothing can be kept. */
export async function followSteps(
  [step]: readonly Pick<Step, 'keeps' | 'commands'>[],
  folder: string,
): Promise<Followed | null> {
  if (step === undefined) return null;
  const { keeps, commands } = step;
  for (const line of commands) {
    const accepted = / ACCEPT_MISSING_MARK=on DATA_FOLDER=(\S+)$/.exec(line)?.[1];
    if (accepted !== undefined) return { keeps, folder: accepted, acceptMissingMark: true };
    await followCommand(line, folder);
  }
  return { keeps, folder, acceptMissingMark: false };
}

/** Runs `npm run …`, with `folder` in place of the placeholder in the line. */
export async function followCommand(line: string, folder: string): Promise<void> {
  const [, tool, rest] = /npm run (\w+) -- ([^#]*)/.exec(line)!;
  const args = rest!
    .replaceAll(/<(a new folder|the archive)>/g, folder)
    .trim()
    .split(' ');
  const run = tool === 'replay' ? await runTool(...args) : await operate(tool!, ...args);
  const isAdded = run.status === 1 && run.out.includes('now contains everything readable of');
  if (run.status !== 0 && !isAdded)
    throw new Error(`${line.trim()}: status ${run.status}: ${run.err}`);
}

/** As {@link followSteps}, for the text that `doctor` prints. */
export function followAdvice(text: string, folder: string): Promise<Followed | null> {
  const [, kept, lines = ''] = /keeps everything up to (\d+).*\n((?: {4}.*\n?)+)/.exec(text) ?? [];
  const commands = lines.trim().split('\n');
  return followSteps(kept === undefined ? [] : [{ keeps: Number(kept), commands }], folder);
}
