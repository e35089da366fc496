/**
 * Starts that must fail: each exits with 1 and a message before anything is created or answered.
 * Starts with few resources, which must succeed. The built program runs under real limits of the
 * operating system (prlimit of util-linux).
 */

import { execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  closeSync,
  cpSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Engine } from '../../engine/engine.js';
import type { Command } from '../../engine/interface/commands.js';
import { RecordBuffer } from '../../engine/interface/records.js';
import { clockProblem } from '../../gateway/inputs/clock-at-start.js';
import { createLog } from '../../gateway/observe/log.js';
import { readConfig } from '../../gateway/start/config.js';
import { checkDemo } from '../../gateway/start/demo-at-start.js';
import { startExchange } from '../../gateway/start/exchange.js';
import { affordableConnections, checkAddressSpace } from '../../gateway/start/process-limits.js';
import { bytesOf } from '../../persistence/journal/format.js';
import { openJournal } from '../../persistence/recovery/data-folder.js';
import { DAY_FILE } from '../data/day-file.js';
import { eventually } from '../support/eventually.js';
import { mounted } from '../support/folders/full-disk.js';
import { silentLog } from '../support/house-support.js';
import { append } from '../support/journal-fixture.js';
import { freePort } from '../support/processes/free-port.js';
import { TestServer } from '../support/server.js';

const MAIN = fileURLToPath(new URL('../../dist/gateway/main.js', import.meta.url));
const DOCTOR = MAIN.replace('gateway/main.js', 'persistence/tools/operations/main.js');
const MEBIBYTE = 2 ** 20;
const GIBIBYTE = 2 ** 30;
const NOBODY = 65_534;

interface Ended {
  /** The exit status; null if the program had announced that it was open, and was still running. */
  status: number | null;
  stdout: string;
  stderr: string;
}

let root: string;
let folder: string;
/** The data folder of an exchange that was open and has stopped. */
let used: string;
const cleanups: (() => void | Promise<void>)[] = [];
beforeAll(async () => {
  used = mkdtempSync(join(tmpdir(), 'exchange-start-'));
  await expectOpen(startProgram({ DATA_FOLDER: used }));
});
afterAll(() => rmSync(used, { recursive: true }));
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'exchange-start-'));
  folder = join(root, 'data');
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  rmSync(root, { recursive: true, force: true });
});

interface StartOptions {
  /** prlimit options, such as --nofile=256. */
  limits?: string[];
  uid?: number;
}

const { PATH = '' } = process.env;

/** Runs the program until it exits, or announces that it is open and is then stopped. */
function startProgram(
  variables: Record<string, string> = {},
  { limits, uid }: StartOptions = {},
): Promise<Ended> {
  const env = { PATH, PORT: '0', ASSETS: 'BTC', DATA_FOLDER: folder, ...variables };
  const program = [process.execPath, MAIN];
  const [command, ...args] = limits === undefined ? program : ['prlimit', ...limits, ...program];
  const child = spawn(command!, args, {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(uid === undefined ? {} : { uid, gid: uid }),
  });
  cleanups.push(() => void child.kill('SIGKILL'));
  let [stdout, stderr, opened] = ['', '', false];
  child.stderr.on('data', (data) => (stderr += data));
  child.stdout.on('data', (data) => {
    stdout += data;
    if (opened || !stdout.includes('is open at')) return;
    opened = true;
    child.kill('SIGTERM');
  });
  return new Promise((resolve) => {
    child.on('close', (status) => resolve({ status: opened ? null : status, stdout, stderr }));
  });
}

/** Starts the exchange in this process, without main.ts. */
async function start(variables: Record<string, string> = {}): Promise<Ended> {
  const logged: string[] = [];
  const log = createLog('info', { write: (line) => logged.push(line) });
  const fixed = { PORT: '0', ASSETS: 'BTC', DATA_FOLDER: folder };
  const onFatal = (error: Error) => expect.fail(error.message);
  try {
    const config = readConfig({ ...fixed, ...variables });
    await (await startExchange({ config, log, onFatal })).stop();
    return { status: null, stdout: '', stderr: logged.join('') };
  } catch (error) {
    return { status: 1, stdout: '', stderr: (error as Error).message };
  }
}

/** It exited with a message, was never open, and printed no stack trace. */
async function expectRefused(
  starting: Promise<Ended>,
  ...words: (string | RegExp)[]
): Promise<void> {
  const { status, stdout, stderr } = await starting;
  for (const word of words) expect(stderr).toMatch(word);
  expect(status).toBe(1);
  expect(stdout).toBe('');
  expect(stderr).not.toMatch(/^\s+at /m);
}

async function expectOpen(starting: Promise<Ended>): Promise<string> {
  const { status, stderr } = await starting;
  expect(stderr).not.toMatch(/cannot start|"level":"(error|fatal)"/);
  expect(status).toBe(null);
  return stderr;
}

/** The folder's contents by name; empty if it does not exist. */
function trace(): Record<string, string> {
  if (!existsSync(folder)) return {};
  return Object.fromEntries(
    readdirSync(folder).map((name) => {
      const path = join(folder, name);
      return [name, statSync(path).isFile() ? readFileSync(path).toString('base64') : 'folder'];
    }),
  );
}

test('an exchange whose log and output are on a full disk serves and stops as any other', async () => {
  const port = await freePort();
  const full = openSync('/dev/full', 'w');
  cleanups.push(() => closeSync(full));
  const env = { PATH, PORT: `${port}`, ASSETS: 'BTC', DATA_FOLDER: folder, LOG_LEVEL: 'debug' };
  const child = spawn(process.execPath, [MAIN], { env, stdio: ['ignore', full, full] });
  cleanups.push(() => void child.kill('SIGKILL'));
  const ended = new Promise((resolve) => child.on('exit', resolve));
  const api = `http://127.0.0.1:${port}/api`;
  await eventually(async () => expect((await fetch(`${api}/ready`)).status).toBe(200));
  const body = JSON.stringify({ username: 'ada', password: 'correct horse battery' });
  const headers = { 'content-type': 'application/json' };
  const registered = await fetch(`${api}/auth/register`, { method: 'POST', headers, body });
  expect(registered.status).toBe(201);
  child.kill('SIGTERM');
  expect(await ended).toBe(0);
});

test.each([
  [['--help'], 0, /^Usage: exchange/],
  [['--port', '80'], 2, /unknown option '--port'/],
])('%j starts no exchange', (args, status, text) => {
  const ended = spawnSync(process.execPath, [MAIN, ...args], { encoding: 'utf8', timeout: 60_000 });
  expect([ended.status, ended.stdout + ended.stderr]).toEqual([
    status,
    expect.stringMatching(text),
  ]);
});

describe('the configuration is checked before anything is created', () => {
  test('a file of prices that is missing', async () => {
    const starting = startProgram({ PRICE_FEED: 'file:missing.csv' });
    await expectRefused(starting, 'The configuration is not valid', 'PRICE_FEED');
    expect(existsSync(folder)).toBe(false);
  });

  test('an address of another machine', async () => {
    await expectRefused(start({ HOST: '192.0.2.1' }), 'cannot listen on 192.0.2.1:');
    expect(existsSync(folder)).toBe(false);
  });

  test('a folder with a journal is not changed, even if its secret is invalid', async () => {
    cpSync(used, folder, { recursive: true });
    const before = trace();
    await expectRefused(start({ PRICE_FEED: 'file:missing.csv' }), 'PRICE_FEED');
    expect(trace()).toEqual(before);
    const secret = join(folder, 'session-secret');
    chmodSync(secret, 0o644);
    await expectRefused(start(), 'chmod 600');
    expect(trace()).toEqual(before);
    writeFileSync(secret, 'cut short', { mode: 0o600 });
    chmodSync(secret, 0o600);
    await expectRefused(start(), 'session secret');
    expect(trace()).toEqual({ ...before, 'session-secret': expect.anything() });
  });
});

describe('a data folder that cannot be used', () => {
  const named = 'DATA_FOLDER cannot be used';

  test('where no folder can be made', async () => {
    await expectRefused(start({ DATA_FOLDER: '/proc/exchange/data' }), named);
  });

  test('a file with its name, and a file as its parent', async () => {
    writeFileSync(folder, '');
    await expectRefused(start(), named);
    await expectRefused(start({ DATA_FOLDER: join(folder, 'more') }), named);
  });

  test('a folder that this user cannot write to, new or with a journal', async () => {
    const isRoot = process.getuid!() === 0;
    const options = isRoot ? { uid: NOBODY } : {};
    chmodSync(root, 0o755);
    if (!isRoot) chmodSync(root, 0o555);
    await expectRefused(startProgram({}, options), named, 'EACCES');
    chmodSync(root, 0o755);
    cpSync(used, folder, { recursive: true });
    for (const path of [folder, ...readdirSync(folder).map((name) => join(folder, name))]) {
      if (isRoot && path !== folder) chownSync(path, NOBODY, NOBODY);
      chmodSync(path, statSync(path).isDirectory() ? 0o555 : 0o600);
    }
    await expectRefused(startProgram({}, options), named, 'EACCES');
    chmodSync(folder, 0o755);
  });

  test.skipIf(process.getuid!() !== 0)('a file of another user: doctor says it, too', async () => {
    chmodSync(root, 0o755);
    cpSync(used, folder, { recursive: true });
    const paths = [folder, ...readdirSync(folder).map((name) => join(folder, name))];
    for (const name of ['session-secret', 'journal.lock']) {
      for (const path of paths) chownSync(path, NOBODY, NOBODY);
      chownSync(join(folder, name), 0, 0);
      const remedy = new RegExp(
        `${name} cannot be used \\(EACCES\\): it belongs to root.*chown -R nobody ${folder}`,
      );
      await expectRefused(startProgram({}, { uid: NOBODY }), named, remedy);
      const ask = [DOCTOR, 'doctor', '--data', folder];
      const { status, stderr } = spawnSync(process.execPath, ask, { uid: NOBODY, gid: NOBODY });
      expect([status, String(stderr)]).toEqual([1, expect.stringMatching(remedy)]);
    }
  });
});

describe('not enough disk space', () => {
  // The exchange must not announce that it is open and then die at its first commit.
  test('a limit on file sizes, which acts like a full disk or a quota', async () => {
    await expectRefused(
      startProgram({}, { limits: [`--fsize=${MEBIBYTE}`] }),
      'DATA_FOLDER cannot be used',
      'has no room',
      'EFBIG',
    );
    expect(trace()).toEqual({ 'journal.lock': '' });
    cpSync(used, folder, { recursive: true });
    const before = trace();
    await expectRefused(startProgram({}, { limits: [`--fsize=${MEBIBYTE}`] }), 'has no room');
    expect(trace()).toEqual(before);
  });

  test('a full disk', async ({ skip }) => {
    const isMounted = mounted(root, '64k');
    skip(!isMounted, 'this user cannot mount a small disk');
    cleanups.push(() => void execFileSync('umount', [root]));
    await expectRefused(start(), 'has no room', 'ENOSPC');
    expect(trace()).toEqual({ 'journal.lock': '' });
  });
});

describe('limited address space', () => {
  test('is refused with the required amount, and that amount is enough', async () => {
    const less = 6 * GIBIBYTE - MEBIBYTE;
    await expectRefused(
      startProgram({}, { limits: [`--as=${less}`] }),
      'cannot start',
      'needs 6 GiB',
    );
    expect(existsSync(folder)).toBe(false);
    await expectOpen(startProgram({}, { limits: [`--as=${6 * GIBIBYTE}`] }));
  });

  test.each([
    [6 * GIBIBYTE, 0, true],
    [6 * GIBIBYTE - 1, 0, false],
    [7.5 * GIBIBYTE, 2, true],
    [7.5 * GIBIBYTE - 1, 2, false],
    [Number.POSITIVE_INFINITY, 64, true],
  ])('%d bytes, with %d edges in threads, are enough: %s', (addressSpaceBytes, edges, isEnough) => {
    const check = () => checkAddressSpace({ openFiles: 1_024, addressSpaceBytes }, edges);
    if (isEnough) check();
    else expect(check).toThrow('GiB of address space');
  });
});

describe('few file descriptors', () => {
  const asked = { total: 10_000, perAddress: 2_000, streamsPerAddress: 2_000 };
  const within = (openFiles: number, limits = asked) =>
    affordableConnections({ openFiles, addressSpaceBytes: Number.POSITIVE_INFINITY }, limits);

  test('are refused when too few for a start, with the required number', async () => {
    await expectRefused(
      startProgram({}, { limits: ['--nofile=191:191'] }),
      'may open 191 files but needs at least 192',
    );
    expect(existsSync(folder)).toBe(false);
  });

  test('lower CONNECTIONS with a warning', async () => {
    // Node.js raises the soft limit to the hard limit.
    const said = await expectOpen(startProgram({}, { limits: ['--nofile=200:256'] }));
    expect(said).toContain('CONNECTIONS is lowered to 128');
    expect(said).toContain('10000 connections need 10128');
    expect(said).toContain('"connections":{"total":128,"perAddress":25,"streamsPerAddress":25}');
  });

  const few = { total: 20, perAddress: 20, streamsPerAddress: 20 };
  test.each([
    ['lower nothing when they are enough', 10_128, asked, asked],
    ['lower nothing when they are enough for few', 148, few, few],
    [
      'lower all limits in proportion',
      1_128,
      asked,
      { total: 1_000, perAddress: 200, streamsPerAddress: 200 },
    ],
    [
      'lower no limit of 0',
      192,
      { ...asked, perAddress: 0, streamsPerAddress: 1 },
      { total: 64, perAddress: 0, streamsPerAddress: 1 },
    ],
    ['are too few', 191, asked, 'needs at least 192'],
    ['are too few for few', 147, few, 'needs at least 148'],
  ])('%s: %d files', (_, files, limits, expected) => {
    if (typeof expected === 'string') expect(() => within(files, limits)).toThrow(expected);
    else expect(within(files, limits)).toEqual(expected);
  });
});

/** A journal whose last command has this time. */
async function journalUntil(atMs: number, ...more: Command[]): Promise<void> {
  const journal = await openJournal({ folder });
  const engine = new Engine();
  const records = new RecordBuffer();
  const commands: Command[] = [{ kind: 'listAsset', symbol: 'BTC' }, ...more];
  for (const command of commands) {
    records.append(command, atMs);
    engine.apply(command, atMs);
  }
  await append(journal, {
    firstSequence: 1,
    lastSequence: commands.length,
    records: bytesOf(records),
    digest: engine.digest(),
  });
  await journal.close();
}

test('a demonstration in the journal of a market is refused, unless the operator accepts it', async () => {
  const atMs = Date.now();
  const price = { asset: 0, priceMicros: 90_000_000_000, observedAtMs: atMs };
  await journalUntil(
    atMs,
    {
      kind: 'register',
      username: 'ada',
      credential: 'c',
      referralCode: '',
      grantMicros: 0,
      partner: 'acme',
    },
    { kind: 'observeSourcePrice', ...price, source: 'coinbase' },
    { kind: 'observeSourcePrice', ...price, source: 'kraken' },
  );
  const before = trace();
  const [simulated, play] = [/coinbase and kraken, and would be simulated/, /acme.*play money/];
  await expectRefused(start(), simulated, play, 'PRICE_FEED', 'ACCEPT_DEMO=on');
  const asBefore = {
    PRICE_FEED: 'coinbase,kraken',
    COINBASE_URL: 'ws://127.0.0.1:9',
    KRAKEN_URL: 'ws://127.0.0.1:9',
  };
  await expectRefused(start(asBefore), play);
  expect(trace()).toEqual(before);
  await expectOpen(start({ ...asBefore, STARTING_BALANCE: '0' }));
  await expectOpen(start({ ACCEPT_DEMO: 'on' }));
});

test('a live source that is the only one leaves its name, so no demonstration follows', async () => {
  const venues = [{ name: 'coinbase' as const, url: 'ws://127.0.0.1:9' }];
  const server = await TestServer.start({ feed: { kind: 'live', venues } });
  for (const price of [100_000, 100_100]) server.feed.deliver('BTC', price);
  const { engine } = server.exchange.sequencer;
  expect(engine.assetPriceMicros(0)).toBe(100_100_000_000);
  const feed = { kind: 'simulated', seed: null, speed: 1 } as const;
  const config = { feed, partnerKeys: [], startingBalanceMicros: 0, acceptDemo: false };
  expect(() => checkDemo({ config, engine, log: silentLog })).toThrow('came from coinbase');
  await server.stop();
});

test('a start that must find a journal makes none', async () => {
  const required = { REQUIRE_JOURNAL: 'on' };
  await expectRefused(start(required), /there is no journal in .*REQUIRE_JOURNAL=off/);
  expect(existsSync(folder)).toBe(false);
  await expectOpen(start());
  await expectOpen(start(required));
});

describe('the clock', () => {
  const MINUTE = 60_000;
  const DAY = 86_400_000;

  test('is refused more than 31 days after the last command, unless the operator accepts it', async () => {
    await journalUntil(Date.now() - 31 * DAY - MINUTE);
    const before = trace();
    const words = ['the clock of the machine says', '31 days after', 'ACCEPT_CLOCK=on'];
    await expectRefused(start({ FEED_SPEED: '300' }), ...words);
    // The refused start wrote nothing, not even journal.head. SQLite creates no files for readers.
    expect(trace()).toEqual(before);
    const { status, stderr } = await start({ ACCEPT_CLOCK: 'on' });
    expect(status).toBe(null);
    expect(stderr).toContain('the clock is implausible, but accepted because of ACCEPT_CLOCK');
    // The last command now has today's time.
    await expectOpen(start());
  });

  test('is refused more than a minute before the last command, unless the operator accepts it', async () => {
    await journalUntil(Date.now() + 30 * MINUTE);
    await expectRefused(start(), 'minutes before', 'ACCEPT_CLOCK=on', 'FEED_SPEED');
    const { status, stderr } = await start({ ACCEPT_CLOCK: 'on' });
    expect(status).toBe(null);
    expect(stderr).toContain('the clock of the exchange runs at half speed');
  });

  test('of a price file may not leap ahead either', async () => {
    const firstMs = Number(readFileSync(DAY_FILE, 'utf8').split('\n')[1]!.split(',')[0]);
    await journalUntil(firstMs - 32 * DAY);
    await expectRefused(
      start({ PRICE_FEED: `file:${DAY_FILE}` }),
      'the first price of',
      '32 days after',
    );
    rmSync(folder, { recursive: true });
    await journalUntil(firstMs + DAY / 2);
    await expectOpen(start({ PRICE_FEED: `file:${DAY_FILE}` }));
  });

  const last = 1_763_700_300_000;
  test.each([
    ['the machine', last + 31 * DAY, false, null],
    ['the machine', last + 31 * DAY + 1, false, /^the machine says .* 31 days after/],
    ['the machine', last - MINUTE, false, null],
    ['the machine', last - MINUTE - 1, false, /^the machine says .* 60 seconds before/],
    ['a feed', last - 400 * DAY, true, null],
    ['a feed', last + 31 * DAY + 1, true, /31 days after/],
  ])('by %s at %d, may be behind: %s', (source, sourceMs, mayBeBehind, expected) => {
    const problem = clockProblem({ journalMs: last, sourceMs, source, mayBeBehind });
    if (expected === null) expect(problem).toBe(null);
    else expect(problem).toMatch(expected);
    // Without any command, the clock is only compared with the plausible years.
    for (const year of [1970, 1999, 2100])
      expect(
        clockProblem({ journalMs: null, sourceMs: Date.UTC(year), source, mayBeBehind }),
      ).toMatch(`says ${year}`);
    expect(clockProblem({ journalMs: null, sourceMs, source, mayBeBehind })).toBe(null);
  });
});
