/** Loads from wrk, if installed: a C client that uses less of the machine than load.ts. */
import { execFile } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { HOST } from '../../test/support/http/messages.js';

const run = promisify(execFile);
const PATIENCE_MS = 60_000;

export interface WrkResult {
  requests: number;
  seconds: number;
  p50Ms: number;
  p99Ms: number;
  p999Ms: number;
  /** Includes requests without an answer. */
  errors: number;
}

export async function hasWrk(): Promise<boolean> {
  try {
    await run('wrk', ['-v']);
  } catch (error) {
    // wrk prints its version and exits with 1.
    return (error as NodeJS.ErrnoException).code !== 'ENOENT';
  }
  return true;
}

export interface WrkOptions {
  port: number;
  connections: number;
  seconds: number;
  /** Sent in turn. */
  requests: readonly Uint8Array[];
  /** For wrk's script. */
  folder: string;
}

export async function runWrk(options: WrkOptions): Promise<WrkResult> {
  const { port, connections, seconds, requests, folder } = options;
  const script = join(folder, 'wrk.lua');
  writeFileSync(script, scriptOf(requests));
  try {
    const { stdout } = await run(
      'wrk',
      [
        ...['-t', '1', '-c', `${connections}`, '-d', `${Math.ceil(seconds)}s`],
        ...['-s', script, `http://${HOST}:${port}/`],
      ],
      { timeout: seconds * 1_000 + PATIENCE_MS },
    );
    return resultIn(stdout);
  } finally {
    rmSync(script, { force: true });
  }
}

/** Lua accepts any byte as three decimal digits. */
function scriptOf(requests: readonly Uint8Array[]): string {
  const texts = requests.map(
    (bytes) => `"${Array.from(bytes, (byte) => `\\${`${byte}`.padStart(3, '0')}`).join('')}"`,
  );
  return `local requests = {${texts.join(',\n')}}
local n = 0
request = function()
  n = n + 1
  return requests[n % #requests + 1]
end
done = function(summary, latency)
  local e = summary.errors
  io.write(string.format('\\nRESULT {"requests":%d,"seconds":%.6f,"p50Ms":%.3f,"p99Ms":%.3f,' ..
    '"p999Ms":%.3f,"errors":%d}\\n', summary.requests, summary.duration / 1e6,
    latency:percentile(50) / 1000, latency:percentile(99) / 1000, latency:percentile(99.9) / 1000,
    e.connect + e.read + e.write + e.status + e.timeout))
end
`;
}

export function resultIn(output: string): WrkResult {
  const line = output.split('\n').find((each) => each.startsWith('RESULT '));
  if (line === undefined) throw new Error(`wrk printed no result: ${output}`);
  return JSON.parse(line.slice('RESULT '.length));
}
