/** The exchange as a child process. The caller that starts it stops it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export const EXCHANGE_MAIN = fileURLToPath(new URL('../../gateway/main.js', import.meta.url));

/** How long a process may take to start or to stop. */
const PATIENCE_MS = 60_000;

/** A server under load. */
export interface ServerProcess {
  port: number;
  /** Asks the process to stop, and waits until it has. */
  stop(): Promise<void>;
}

/**
 * The built exchange with these environment variables and no others, profiled if a folder is given.
 */
export async function startExchangeProcess(
  environment: Record<string, string>,
  profileFolder: string | null,
): Promise<ServerProcess> {
  const nodeOptions =
    profileFolder === null ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileFolder}`];
  const child = spawn(process.execPath, [...nodeOptions, EXCHANGE_MAIN], {
    env: environment,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const port = await portFromOutput(child);
  return {
    port,
    stop: async () => {
      const code = await endOf(child, 'SIGTERM');
      if (code !== 0) throw new Error(`the exchange ended with ${code}`);
    },
  };
}

/** The port that the exchange prints to standard output when it opens. */
export async function portFromOutput(child: ChildProcess): Promise<number> {
  const lines = createInterface({ input: child.stdout! });
  const timer = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS);
  try {
    for await (const line of lines) {
      const found = /^The exchange is open at http:\/\/\S+:(\d+)\//.exec(line);
      if (found !== null) return Number(found[1]);
    }
  } finally {
    clearTimeout(timer);
    child.stdout!.resume();
  }
  throw new Error('the exchange ended before it was open');
}

/**
 * Sends the signal and waits for the end. Returns the exit code; null: a signal ended the process.
 */
export async function endOf(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
  const exit = once(child, 'exit');
  child.kill(signal);
  const timer = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS);
  const [code] = await exit;
  clearTimeout(timer);
  return code as number | null;
}
