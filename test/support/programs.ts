/**
 * The built programs as child processes: the exchange, with a client of it, and the replay tool.
 * They have their own file because tests that start no process share their workers
 * (vitest.config.ts).
 */
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { eventually } from './eventually.js';
import { ExchangeProcess } from './processes/exchange-process.js';
import { goodOutput, linesOf, type ToolRun } from './replay-tool.js';
import { ApiClient, type ClientOptions, EDGE_THREADS } from './server.js';

export const EDGE_VARIABLES: Readonly<Record<string, string>> =
  EDGE_THREADS === 0 ? {} : { EDGE_THREADS: `${EDGE_THREADS}` };
const ENDING_MS = 10_000;
/**
 * Where the programs keep their compiled code, so that each start but the first takes a sixth less
 * CPU. Coverage needs code that is compiled at each start.
 */
const COMPILED: Readonly<Record<string, string>> =
  process.env['NODE_V8_COVERAGE'] === undefined
    ? { NODE_COMPILE_CACHE: join(tmpdir(), 'exchange-compiled') }
    : {};

/** An exchange with the defaults of tests. */
export class ChildServer extends ExchangeProcess {
  /**
   * `variables` must include `DATA_FOLDER`. `limits` are prlimit options, such as --nofile=256.
   * Does not wait.
   */
  static spawn(
    variables: Record<string, string>,
    limits: readonly string[] = [],
    uid?: number,
  ): ChildServer {
    const { PATH = '' } = process.env;
    const environment = {
      PATH,
      PORT: '0',
      PASSWORD_COST_LOG2: '10',
      FAIR_USE: 'off',
      FEED_SEED: '1',
      ...COMPILED,
      ...(variables['ROLE'] === 'replica' ? {} : EDGE_VARIABLES),
      ...variables,
    };
    return new ChildServer({ environment, limits, uid });
  }

  /** Resolves to a client when the program listens. Rejects with its output if it exits first. */
  async listening(options?: ClientOptions): Promise<ApiClient> {
    return new ApiClient(await this.opened(), options);
  }

  /** Makes the program read its keys and files again, and waits for the message `says`. */
  async hangUp(says = 'keys and secrets were read again'): Promise<void> {
    const count = () => this.stderr.split(says).length;
    const before = count();
    this.child.kill('SIGHUP');
    await eventually(() => count() > before);
  }
}

/** The exchanges of a test or a file. They share a folder, which contains their data folders. */
export class Exchanges {
  readonly work = mkdtempSync(join(tmpdir(), 'exchange-'));
  private readonly servers: ChildServer[] = [];
  private readonly clients: ApiClient[] = [];

  constructor(private readonly variables: Record<string, string> = {}) {}

  /** The default data folder. */
  get folder(): string {
    return join(this.work, 'data');
  }

  spawn(
    variables: Record<string, string> = {},
    limits: readonly string[] = [],
    uid?: number,
  ): ChildServer {
    const own = { DATA_FOLDER: this.folder, ...this.variables, ...variables };
    const server = ChildServer.spawn(own, limits, uid);
    this.servers.push(server);
    return server;
  }

  async listening(server: ChildServer, options?: ClientOptions): Promise<ApiClient> {
    const client = await server.listening(options);
    this.clients.push(client);
    return client;
  }

  /** Kills every exchange, even a paused one. */
  async kill(): Promise<void> {
    for (const client of this.clients.splice(0)) await client.close();
    for (const server of this.servers.splice(0)) {
      server.child.kill('SIGCONT');
      await server.stop('SIGKILL');
    }
  }

  /** Ends all processes. Under test/coverage.ts, they may end by themselves. */
  async end(): Promise<void> {
    if (process.env['NODE_V8_COVERAGE'] !== undefined) {
      for (const client of this.clients.splice(0)) await client.close();
      const ended = Promise.all(this.servers.map((server) => server.stop()));
      await Promise.race([ended, delay(ENDING_MS, undefined, { ref: false })]);
    }
    await this.kill();
    rmSync(this.work, { recursive: true, force: true });
  }
}

export const TOOL = fileURLToPath(
  new URL('../../dist/persistence/tools/replay/main.js', import.meta.url),
);

/** Runs a command of the tool on a data folder, with the built program. */
export function replayProgram(folder: string, ...args: string[]): Promise<ToolRun> {
  return runProgram('--data', folder, ...args);
}

export function runProgram(...args: string[]): Promise<ToolRun> {
  if (!existsSync(TOOL)) throw new Error(`${TOOL} is missing: npm run build`);
  return new Promise((resolve) => {
    const options = { maxBuffer: 256 * 1024 * 1024 };
    execFile(
      process.execPath,
      ['--enable-source-maps', TOOL, ...args],
      options,
      (error, out, err) => {
        resolve({ status: error === null ? 0 : Number(error.code ?? -1), out, err });
      },
    );
  });
}

/** The objects that a command prints with --json; it must exit with 0. */
// biome-ignore lint/suspicious/noExplicitAny: tests read only the fields they expect
export async function programLines(folder: string, ...args: string[]): Promise<any[]> {
  return linesOf(goodOutput(await replayProgram(folder, ...args, '--json')));
}
