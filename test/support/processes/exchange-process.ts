/**
 * The built exchange as a child process.
 *
 * Always holds: its environment contains only the given variables. The caller ends each process
 * that it starts; none outlives this process, even after an error.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { compiledFile } from '../../../persistence/storage/program-folder.js';

export const MAIN = compiledFile('gateway/main.js');
/** Time for a process to start or to stop. */
const PATIENCE_MS = 60_000;

export interface StartOptions {
  environment: Readonly<Record<string, string>> & { readonly DATA_FOLDER: string };
  /** The file for its log. Default: standard error. */
  logFile?: string;
  nodeOptions?: readonly string[];
  /** Its main module, if from another build. */
  program?: string | undefined;
  /** The process is killed if it is not open after this time. */
  killAfterMs?: number | undefined;
}

export class ExchangeProcess {
  private constructor(
    private readonly options: StartOptions,
    private readonly child: ChildProcess,
    readonly port: number,
  ) {}

  /** Resolves when it is open. @throws Error with the reason why it did not start */
  static async start(options: StartOptions): Promise<ExchangeProcess> {
    const child = spawnExchange(options);
    const kill = () => child.kill('SIGKILL');
    const timer = setTimeout(kill, options.killAfterMs ?? PATIENCE_MS);
    const port = await portFromOutput(child);
    clearTimeout(timer);
    if (port !== null) return new ExchangeProcess(options, child, port);
    const code = await endOf(child, 'SIGKILL');
    const why = lastLine(logOf(options));
    throw new Error(`the exchange did not start (exit code ${code}): ${why}`);
  }

  get pid(): number {
    return this.child.pid!;
  }

  get isSecure(): boolean {
    return 'TLS_CERT_FILE' in this.options.environment;
  }

  get dataFolder(): string {
    return this.options.environment.DATA_FOLDER;
  }

  get isRunning(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** The log in its file. */
  get log(): string {
    return logOf(this.options);
  }

  /** Asks it to stop, and waits for its end. @throws Error if the exit code is not 0 */
  async stop(): Promise<void> {
    const code = await endOf(this.child, 'SIGTERM');
    if (code !== 0) throw new Error(`the exchange ended with ${code}: ${lastLine(this.log)}`);
  }

  async kill(): Promise<void> {
    await endOf(this.child, 'SIGKILL');
  }
}

const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

function spawnExchange(options: StartOptions) {
  const { environment, logFile, nodeOptions = [], program = MAIN } = options;
  const log = logFile === undefined ? null : openSync(logFile, 'a');
  try {
    const child = spawn(process.execPath, [...nodeOptions, program], {
      env: environment,
      stdio: ['ignore', 'pipe', log ?? 'inherit'],
    });
    running.add(child);
    child.once('exit', () => running.delete(child));
    return child;
  } finally {
    if (log !== null) closeSync(log);
  }
}

/** The port that the exchange prints when it opens; null: it ended first. */
async function portFromOutput(child: ChildProcess): Promise<number | null> {
  try {
    for await (const line of createInterface({ input: child.stdout! })) {
      const found = /^The exchange is open at https?:\/\/\S+:(\d+)\//.exec(line);
      if (found !== null) return Number(found[1]);
    }
    return null;
  } finally {
    child.stdout!.resume();
  }
}

function logOf({ logFile }: StartOptions): string {
  return logFile === undefined ? '' : readFileSync(logFile, 'utf8');
}

export function lastLine(text: string): string {
  return text.trim().split('\n').at(-1)!;
}

/** Sends the signal and waits for the end. Returns the exit code; null: a signal ended it. */
export async function endOf(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
  const exit = once(child, 'exit');
  child.kill(signal);
  const timer = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS);
  const [code] = await exit;
  clearTimeout(timer);
  return code as number | null;
}
