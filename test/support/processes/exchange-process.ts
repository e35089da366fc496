/**
 * The built exchange as a child process.
 *
 * Invariant: its environment contains only the given variables. The caller ends each process
 * that it starts; none outlives this process, even after an error.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { compiledFile } from '../../../persistence/storage/program-folder.js';

export const MAIN = compiledFile('gateway/main.js');
/** Time for a process to start or to stop. */
const PATIENCE_MS = 60_000;

export interface StartOptions {
  environment: Readonly<Record<string, string>>;
  /** The log file. Default: {@link ExchangeProcess.stderr}. */
  logFile?: string;
  nodeOptions?: readonly string[];
  /** The main module of another build. Default: this build's. */
  program?: string | undefined;
  /** Options of prlimit, such as --nofile=256. */
  limits?: readonly string[];
  uid?: number | undefined;
}

const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

export class ExchangeProcess {
  readonly child: ChildProcess;
  stdout = '';
  stderr = '';
  private readonly exited: Promise<number | null>;

  /** Starts the process, without waiting until it is open. */
  constructor(private readonly options: StartOptions) {
    const { environment, logFile, nodeOptions = [], program = MAIN, limits = [], uid } = options;
    const limited = limits.length === 0 ? [] : ['prlimit', ...limits];
    const [command, ...args] = [...limited, process.execPath, ...nodeOptions, program];
    const log = logFile === undefined ? null : openSync(logFile, 'a');
    this.child = spawn(command!, args, {
      env: environment,
      stdio: ['ignore', 'pipe', log ?? 'pipe'],
      ...(uid === undefined ? {} : { uid, gid: uid }),
    });
    if (log !== null) closeSync(log);
    running.add(this.child);
    this.child.once('exit', () => running.delete(this.child));
    this.child.stdout!.on('data', (data) => (this.stdout += data));
    this.child.stderr?.on('data', (data) => (this.stderr += data));
    this.exited = new Promise((resolve) => this.child.once('close', resolve));
  }

  /**
   * Resolves when it is open. It is killed if it is not open after `patienceMs`.
   * @throws Error with the reason why it did not start
   */
  static async start(options: StartOptions, patienceMs = PATIENCE_MS): Promise<ExchangeProcess> {
    const exchange = new ExchangeProcess(options);
    await exchange.opened(patienceMs);
    return exchange;
  }

  /** Resolves to the process's address once it is open, like {@link start}. */
  async opened(patienceMs = PATIENCE_MS): Promise<string> {
    const timer = setTimeout(() => this.child.kill('SIGKILL'), patienceMs);
    const told = new Promise<void>((resolve) => {
      this.child.stdout!.on('data', () => this.address !== undefined && resolve());
    });
    if (this.address === undefined) await Promise.race([told, this.exited]);
    clearTimeout(timer);
    if (this.address !== undefined) return this.address;
    throw new Error(`the exchange ended with ${await this.exited}: ${this.log.slice(-2_000)}`);
  }

  private get address(): string | undefined {
    return /^The exchange is open at (\S+)\/api/m.exec(this.stdout)?.[1];
  }

  get port(): number {
    return Number(new URL(this.address!).port);
  }

  get pid(): number {
    return this.child.pid!;
  }

  get isSecure(): boolean {
    return 'TLS_CERT_FILE' in this.options.environment;
  }

  get isRunning(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  get log(): string {
    const { logFile } = this.options;
    return logFile === undefined ? this.stderr : readFileSync(logFile, 'utf8');
  }

  /** Sends a signal. Resolves to the exit code, or to null if a signal ended the process. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    await endOf(this.child, signal);
    return this.exited;
  }

  /** Stops the process and waits for its end. @throws Error if the exit code is not 0 */
  async mustStop(): Promise<void> {
    const code = await this.stop();
    if (code !== 0) throw new Error(`the exchange ended with ${code}: ${this.log.slice(-2_000)}`);
  }

  /** The exit code of a program that exits on its own. */
  end(): Promise<number | null> {
    return this.exited;
  }
}

/**
 * Sends the signal and waits for the end. Resolves to the exit code, or to null if a signal ended
 * the process.
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
