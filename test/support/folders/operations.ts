/** The operator's program, run in this process. */
import { run } from '../../../persistence/tools/operations/command-line.js';

export interface Operation {
  status: number;
  out: string;
  err: string;
}

export async function operate(...args: string[]): Promise<Operation> {
  const out: string[] = [];
  const err: string[] = [];
  const into = (texts: string[]) => ({ write: (text: string) => texts.push(text) > 0 });
  const streams = { answers: into(out), notices: into(err) };
  const status = await run(args, streams as Parameters<typeof run>[1]);
  return { status, out: out.join(''), err: err.join('') };
}
