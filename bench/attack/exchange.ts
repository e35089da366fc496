/**
 * The built exchange as a process of its own, to be attacked. Its log is in a file beside its data
 * folder.
 *
 * Always holds: it has no environment variable but those that it is given; the caller that starts
 * it ends it.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { endOf, portFromOutput } from '../measure/processes.js';
import { HOST } from '../soak/exchange.js';

const MAIN = fileURLToPath(new URL('../../gateway/main.js', import.meta.url));

export interface StartOptions {
  dataFolder: string;
  variables: Readonly<Record<string, string>>;
  /** A limit that the shell sets first, such as `ulimit -n 256`. */
  limit?: string;
  /** It is killed so soon, unless it is open before. */
  killAfterMs?: number;
}

/** The process ended before it was open. */
export class StartRefused extends Error {
  constructor(
    readonly exitCode: number | null,
    /** All that it logged and printed as an error. */
    readonly words: string,
  ) {
    super(`the exchange did not start (exit code ${exitCode}): ${words.trim().split('\n').at(-1)}`);
  }
}

export class AttackedExchange {
  private constructor(
    readonly options: StartOptions,
    private readonly child: ChildProcess,
    readonly port: number,
  ) {}

  /** Resolves when it is open. @throws StartRefused */
  static async start(options: StartOptions): Promise<AttackedExchange> {
    const child = spawnProgram(options);
    const { killAfterMs } = options;
    const timer =
      killAfterMs === undefined ? undefined : setTimeout(() => child.kill('SIGKILL'), killAfterMs);
    try {
      const port = await portFromOutput(child);
      clearTimeout(timer);
      return new AttackedExchange(options, child, port);
    } catch {
      throw new StartRefused(await endOf(child, 'SIGKILL'), logOf(options));
    }
  }

  get pid(): number {
    return this.child.pid!;
  }

  get host(): string {
    return `${HOST}:${this.port}`;
  }

  get dataFolder(): string {
    return this.options.dataFolder;
  }

  get isRunning(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** All that it logged. */
  get words(): string {
    return logOf(this.options);
  }

  async stop(): Promise<{ exitCode: number | null; milliseconds: number }> {
    const startedMs = performance.now();
    const exitCode = await endOf(this.child, 'SIGTERM');
    return { exitCode, milliseconds: performance.now() - startedMs };
  }

  async kill(): Promise<void> {
    await endOf(this.child, 'SIGKILL');
  }
}

/** Even if the attacks end by an error or a signal, no exchange of theirs goes on. */
const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

function spawnProgram({ dataFolder, variables, limit }: StartOptions): ChildProcess {
  const log = openSync(logFile(dataFolder), 'a');
  try {
    const shell = [
      '/bin/sh',
      ['-c', `${limit} && exec "$0" "$@"`, process.execPath, MAIN],
    ] as const;
    const [program, given] = limit === undefined ? ([process.execPath, [MAIN]] as const) : shell;
    const child = spawn(program, given, {
      env: { ...variables, DATA_FOLDER: dataFolder },
      stdio: ['ignore', 'pipe', log],
    });
    running.add(child);
    child.once('exit', () => running.delete(child));
    return child;
  } finally {
    closeSync(log);
  }
}

const logFile = (dataFolder: string) => `${dataFolder}.log`;
const logOf = ({ dataFolder }: StartOptions) => readFileSync(logFile(dataFolder), 'utf8');
