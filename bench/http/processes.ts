/** Child processes of the HTTP and stream benchmarks. The caller that starts one stops it. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { compiledFile } from '../../persistence/storage/program-folder.js';
import { endOf } from '../../test/support/processes/exchange-process.js';
import type { PlainSetup } from '../plain/exchange.js';
import type { LoadOptions, LoadResult } from './load/load.js';
import type { LoadTask } from './load/load-generator.js';
import type { StreamLoadOptions, StreamLoadResult } from './load/stream-load.js';

/** Answers each path with a fixed text. */
export async function startBareServer(answers: Record<string, string>) {
  const child = fork(compiledFile('bench/http/bare-server.js'), [], { env: {} });
  child.send(answers);
  return serverOf(child);
}

/** The plain design (bench/plain), with its database in `folder`. */
export async function startPlainServer(setup: PlainSetup & { folder: string }) {
  const env = { NODE_NO_WARNINGS: '1' };
  const child = fork(compiledFile('bench/plain/server.js'), [], { env });
  child.send(setup);
  return serverOf(child);
}

async function serverOf(child: ChildProcess) {
  const { port } = await messageFrom<{ port: number }>(child);
  const stop = async (): Promise<void> => void (await endOf(child, 'SIGTERM'));
  return { port, pid: child.pid!, stop };
}

export class LoadGenerator {
  private readonly child = fork(compiledFile('bench/http/load/load-generator.js'), [], {
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

/** @throws Error if the child ends first */
export async function messageFrom<T>(child: ChildProcess): Promise<T> {
  const abort = new AbortController();
  const { signal } = abort;
  try {
    const exit = once(child, 'exit', { signal }).then(([code]) => {
      throw new Error(`a process of the benchmark ended with ${code}`);
    });
    const [message] = await Promise.race([once(child, 'message', { signal }), exit]);
    return message as T;
  } finally {
    abort.abort();
  }
}
