/** The child processes of the benchmarks and attacks. Whoever starts one stops it. */
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { LoadOptions, LoadResult } from './http/load.js';
import type { LoadTask } from './http/load-generator.js';
import type { StreamLoadOptions, StreamLoadResult } from './http/stream-load.js';

/** How long a process may take to start or to stop. */
const PATIENCE_MS = 60_000;

const fileOf = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** A server under load. */
export interface ServerProcess {
  port: number;
  /** Asks it to stop and waits for its end. */
  stop(): Promise<void>;
}

/** The built exchange, with nothing in its environment but these variables; profiled, if a folder is named. */
export async function startExchangeProcess(
  environment: Record<string, string>,
  profileFolder: string | null,
): Promise<ServerProcess> {
  const nodeOptions = profileFolder === null ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileFolder}`];
  const child = spawn(process.execPath, [...nodeOptions, fileOf('../gateway/main.js')], {
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

/** A bare uWebSockets.js server that answers each path with one text. */
export async function startBareServer(answers: Record<string, string>): Promise<ServerProcess> {
  const child = fork(fileOf('./http/bare-server.js'), [], { env: {} });
  child.send(answers);
  const { port } = await messageFrom<{ port: number }>(child);
  return {
    port,
    stop: async () => {
      await endOf(child, 'SIGTERM');
    },
  };
}

/** A process that makes load. */
export class LoadGenerator {
  private readonly child = fork(fileOf('./http/load-generator.js'), [], {
    env: {},
    serialization: 'advanced',
  });

  run(options: LoadOptions): Promise<LoadResult> {
    return this.result({ kind: 'http', options });
  }

  runStream(options: StreamLoadOptions): Promise<StreamLoadResult> {
    return this.result({ kind: 'stream', options });
  }

  private async result<Result>(task: LoadTask): Promise<Result> {
    const answer = messageFrom<{ result: Result } | { error: string }>(this.child);
    this.child.send(task);
    const message = await answer;
    if ('error' in message) throw new Error(`the load failed: ${message.error}`);
    return message.result;
  }

  async stop(): Promise<void> {
    await endOf(this.child, 'SIGTERM');
  }
}

async function messageFrom<T>(child: ChildProcess): Promise<T> {
  const ended = new AbortController();
  try {
    const message = once(child, 'message', { signal: ended.signal });
    const exit = once(child, 'exit', { signal: ended.signal });
    const [first] = await Promise.race([message, exit.then(([code]) => [new Error(`ended with ${code}`)])]);
    if (first instanceof Error) throw new Error(`a process of the benchmark ${first.message}`);
    return first as T;
  } finally {
    ended.abort();
  }
}

/** The exchange says where it is open on its standard output. */
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

/** Sends the signal and waits for the end; its exit code, or null if a signal ended it. */
export async function endOf(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
  const exit = once(child, 'exit');
  child.kill(signal);
  const timer = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS);
  const [code] = await exit;
  clearTimeout(timer);
  return code as number | null;
}
