/**
 * The built program as a child process, with a client of it. In a file of its own: tests that start
 * no process share theirs (vitest.config.ts).
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { eventually } from './eventually.js';
import { ApiClient, SOCKET_THREADS } from './server.js';

const SOCKET_VARIABLES = { SOCKET_THREADS: `${SOCKET_THREADS}`, SOCKETS_PORT: '0' };
const MAIN = fileURLToPath(new URL('../../dist/gateway/main.js', import.meta.url));

/** The built program in a child process. */
export class ChildServer {
  readonly child: ChildProcess;
  stdout = '';
  stderr = '';
  private readonly exited: Promise<number | null>;

  private constructor(variables: Record<string, string>, limits: readonly string[]) {
    const { PATH = '' } = process.env;
    const environment = {
      PATH,
      PORT: '0',
      PASSWORD_COST_LOG2: '10',
      FAIR_USE: 'off',
      FEED_SEED: '1',
      ...(SOCKET_THREADS === 0 || variables['ROLE'] === 'replica' ? {} : SOCKET_VARIABLES),
      ...variables,
    };
    const limited = limits.length === 0 ? [] : ['prlimit', ...limits];
    const [command, ...args] = [...limited, process.execPath, MAIN];
    this.child = spawn(command!, args, { env: environment, stdio: ['ignore', 'pipe', 'pipe'] });
    this.child.stdout!.on('data', (data) => (this.stdout += data));
    this.child.stderr!.on('data', (data) => (this.stderr += data));
    this.exited = new Promise((resolve) => this.child.on('close', resolve));
  }

  /**
   * Include `DATA_FOLDER` in the variables. `limits` are prlimit options, such as --nofile=256.
   * Does not wait.
   */
  static spawn(variables: Record<string, string>, limits: readonly string[] = []): ChildServer {
    return new ChildServer(variables, limits);
  }

  /** Resolves when the program listens; rejects with its output when it exits first. */
  async listening(): Promise<ApiClient> {
    const address = () =>
      (/Socket threads serve (\S+)\/api/.exec(this.stdout) ??
        /open at (\S+)\/api/.exec(this.stdout))?.[1];
    await eventually(() => address() !== undefined || this.child.exitCode !== null);
    const url = address();
    if (url === undefined)
      throw new Error(`the program ended with ${this.child.exitCode}: ${this.stderr}`);
    return new ApiClient(url);
  }

  /** Sends a signal and resolves to the exit code; null if the signal killed it. */
  stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    this.child.kill(signal);
    return this.exited;
  }

  /** The exit code of a program that exits on its own. */
  end(): Promise<number | null> {
    return this.exited;
  }
}
