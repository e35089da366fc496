/** A process with socket threads exits with its status, also when nothing has closed them. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { compiledFile } from '../../../persistence/storage/program-folder.js';

const built = (file: string): string => compiledFile(`gateway/sockets/${file}.js`);

/** Ends the process while clients wait for answers that never come. */
const PROGRAM = `
import { request } from 'node:http';
import { SocketCounts } from '${built('counts')}';
import { SocketThreads } from '${built('socket-threads')}';
const threads = new SocketThreads({
  threads: 2,
  trustProxy: false,
  connections: { total: 100, perAddress: 0, streamsPerAddress: 0 },
  unsent: { bytes: 1e6, bytesPerAddress: 0, ms: 60_000 },
  counts: SocketCounts.create(3),
  tellConnections: () => {},
  fail: (error) => console.error(error),
  refuse: () => {},
});
let asked = 0;
threads.on('get', '/never', (response) => {
  response.onAborted(() => {});
  if (++asked === 4) process.exit(7);
});
const port = await threads.listen('127.0.0.1', 0);
for (let i = 0; i < 4; i++)
  request({ port, host: '127.0.0.1', path: '/never', agent: false }).on('error', () => {}).end();
`;

test('exits with its status while clients wait', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'exchange-exit-'));
  const program = join(folder, 'program.mjs');
  await writeFile(program, PROGRAM);
  const run = promisify(execFile)(process.execPath, [program], { timeout: 20_000 });
  const { code, signal, stderr } = await run.then(
    () => ({ code: 0, signal: null, stderr: '' }),
    (error) => error,
  );
  await rm(folder, { recursive: true });
  expect({ code, signal, stderr }).toEqual({ code: 7, signal: null, stderr: '' });
});
