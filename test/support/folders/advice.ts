/** What `doctor` says, done to the letter by the program's own command lines. */
import { runTool } from '../replay-tool.js';
import { operate } from './operations.js';

export interface Followed {
  /** The last sequence that the advice says is kept. */
  keeps: number;
  /** The folder to be started, and whether with ACCEPT_MISSING_MARK=on. */
  folder: string;
  acceptMissingMark: boolean;
}

/** Runs what follows the first "keeps", into `folder`; null: nothing can be kept. */
export async function followAdvice(text: string, folder: string): Promise<Followed | null> {
  const [, kept, commands] = /keeps everything up to (\d+).*\n((?: {4}.*\n?)+)/.exec(text) ?? [];
  if (kept === undefined) return null;
  const keeps = Number(kept);
  for (const line of commands!.trim().split('\n')) {
    const accepted = / ACCEPT_MISSING_MARK=on DATA_FOLDER=(\S+)$/.exec(line)?.[1];
    if (accepted !== undefined) return { keeps, folder: accepted, acceptMissingMark: true };
    const [, tool, rest] = /npm run (\w+) -- ([^#]*)/.exec(line)!;
    const args = rest!.replaceAll('<a new folder>', folder).trim().split(' ');
    const run = tool === 'replay' ? await runTool(...args) : await operate(tool!, ...args);
    const isAdded = run.status === 1 && run.out.includes('has all that is whole of');
    if (run.status !== 0 && !isAdded)
      throw new Error(`${line.trim()}: status ${run.status}: ${run.err}`);
  }
  const inPlace = /npm run archive -- --data (\S+) --to \S+ --restore/.exec(commands!)?.[1];
  return { keeps, folder: inPlace ?? folder, acceptMissingMark: false };
}
