/** A log file that logrotate copies and truncates (copytruncate). */
import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually } from '../support/eventually.js';
import { Exchanges } from '../support/programs.js';

const MAIN = fileURLToPath(new URL('../../dist/gateway/main.js', import.meta.url));
let exchanges: Exchanges;
beforeEach(() => {
  exchanges = new Exchanges();
});
afterEach(() => exchanges.end());

test.each([
  ['a', 'goes on at its beginning, without NUL bytes'],
  ['w', 'would leave a hole, which the start says'],
])('a log opened with %s %s', async (flag) => {
  const path = join(exchanges.work, 'log');
  const file = openSync(path, flag);
  const child = spawn(process.execPath, [MAIN], {
    env: { PATH: process.env['PATH'], PORT: '0', ASSETS: 'BTC', DATA_FOLDER: exchanges.folder },
    stdio: ['ignore', 'pipe', file],
  });
  closeSync(file);
  const log = () => readFileSync(path, 'utf8');
  try {
    await eventually(() => expect(log()).toContain('PLAY MONEY'));
    expect(log().includes('THE LOG CANNOT BE ROTATED')).toBe(flag === 'w');
    truncateSync(path);
    child.kill('SIGHUP');
    await eventually(() => expect(log()).toContain('keys and secrets were read again'));
    expect(log().includes('\0')).toBe(flag === 'w');
  } finally {
    const ended = new Promise((resolve) => child.on('exit', resolve));
    child.kill('SIGTERM');
    await ended;
  }
});
