/**
 * One exchange or replica of a cluster: the built program as a process with its own port, folder
 * and log file. It can be paused, killed and restarted, and may wait for the lead.
 */
import { eventually } from '../eventually.js';
import { ExchangeProcess, MAIN } from '../processes/exchange-process.js';

const ANSWER_MS = 2_000;

/** Values of ROLE. */
export type Role = 'leader' | 'standby' | 'replica';

export interface ClusterExchangeOptions {
  name: string;
  port: number;
  operationsPort: number;
  logFile: string;
  /** Default: this build's. */
  program?: string;
  /** The role at the first start and at each restart. */
  role: Role;
  roleAfterwards: Role;
  environment: Readonly<Record<string, string>>;
  /** Called when the process has ended for any reason. */
  onEnd?: (status: number | NodeJS.Signals) => void;
}

export class ClusterExchange {
  private process: ExchangeProcess;
  /** The program that the next start runs. */
  program: string;

  constructor(private readonly options: ClusterExchangeOptions) {
    this.program = options.program ?? MAIN;
    this.process = this.spawn(options.role);
  }

  get name(): string {
    return this.options.name;
  }

  get isReplica(): boolean {
    return this.options.role === 'replica';
  }

  get port(): number {
    return this.options.port;
  }

  get pid(): number {
    return this.process.pid;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/api`;
  }

  get operationsUrl(): string {
    return `http://127.0.0.1:${this.options.operationsPort}/api`;
  }

  get log(): string {
    return this.process.log;
  }

  get isRunning(): boolean {
    return this.process.isRunning;
  }

  restart(): void {
    if (this.isRunning) throw new Error(`${this.name} is running`);
    this.process = this.spawn(this.options.roleAfterwards);
  }

  signal(signal: NodeJS.Signals): void {
    this.process.child.kill(signal);
  }

  /** Resolves to the exit code, or to null if a signal ended the process. */
  async stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null> {
    this.process.child.kill('SIGCONT');
    return this.process.stop(signal);
  }

  async ended(): Promise<void> {
    await this.process.end();
  }

  /** Whether the process answers requests. */
  async isOpen(): Promise<boolean> {
    const signal = AbortSignal.timeout(ANSWER_MS);
    const { ok } = await fetch(`${this.url}/ready`, { signal }).catch(() => ({ ok: false }));
    return ok;
  }

  /** Whether the process answers requests and reports no trouble. */
  async isWell(): Promise<boolean> {
    const answer = await fetch(`${this.url}/ready`, { signal: AbortSignal.timeout(ANSWER_MS) });
    return answer.ok && !(await answer.text()).includes('"warning":"');
  }

  /**
   * Waits until the process answers. @throws Error with the end of its log if the process ends
   * first
   */
  async untilOpen(): Promise<void> {
    await eventually(async () => !this.isRunning || (await this.isOpen()), 60_000);
    if (!this.isRunning) throw new Error(`${this.name} has ended: ${this.log.slice(-2_000)}`);
  }

  /**
   * Waits until the process leads, or follows with a warm engine. @throws Error if it ends first
   */
  async untilWarm(): Promise<void> {
    await eventually(async () => {
      if (!this.isRunning) throw new Error(`it has ended: ${this.log.slice(-2_000)}`);
      const signal = AbortSignal.timeout(ANSWER_MS);
      const status = await (await fetch(`${this.url}/status`, { signal })).json();
      return (status as { digest: string | null }).digest !== null;
    }, 60_000);
  }

  private spawn(role: Role): ExchangeProcess {
    const { environment, logFile, onEnd } = this.options;
    const [port, operationsPort] = [`${this.port}`, `${this.options.operationsPort}`];
    const ports = { HOST: '127.0.0.1', PORT: port, OPERATIONS_PORT: operationsPort };
    const started = new ExchangeProcess({
      environment: { ...environment, ...ports, ROLE: role },
      logFile,
      nodeOptions: ['--enable-source-maps'],
      program: this.program,
    });
    started.child.once('exit', (code, signal) => onEnd?.(code ?? signal!));
    return started;
  }
}
