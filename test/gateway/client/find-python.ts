/** The Python that the tests of its client run. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

export type Mode = 'stream' | 'poll';

/** The Python that can stream, else any; null: there is none. */
export async function findPython(): Promise<{ program: string; modes: Mode[] } | null> {
  let found: string | null = null;
  for (const program of ['python3', '/usr/bin/python3']) {
    const imports = (code: string) => run(program, ['-c', code]).then(...[() => true, () => false]);
    if (await imports('import websockets')) return { program, modes: ['poll', 'stream'] };
    if (await imports('import ssl')) found ??= program;
  }
  return found === null ? null : { program: found, modes: ['poll'] };
}
