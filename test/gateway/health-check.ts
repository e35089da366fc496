/** Runs the container image's health check, as the container does. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../support/sources.js';

/** Returns the check's exit status for the exchange at an address. 0 means healthy. */
export async function healthCheck(address: string): Promise<number> {
  const containerfile = readFileSync(join(ROOT, 'gateway/deploy/Containerfile'), 'utf8');
  const [, json] = /^HEALTHCHECK .* CMD (.*)$/m.exec(containerfile)!;
  const [node, ...args] = JSON.parse(json!) as string[];
  if (node !== 'node') throw new Error(`not a command of Node.js: ${json}`);
  const child = spawn(process.execPath, args, { env: { PORT: new URL(address).port } });
  const [status] = await once(child, 'exit');
  return status;
}
