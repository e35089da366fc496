/**
 * Files that the program's user may not use: the program's message names the file, the user and a
 * command, and after that command the same program works. start.test.ts has the exchange and
 * doctor. Needs root, to act as another user.
 */
import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { isSealed } from '../../persistence/journal/sealing.js';
import { listSegments, type Segment } from '../../persistence/journal/segments.js';
import { eventually } from '../support/eventually.js';
import { Exchanges } from '../support/programs.js';
import { TestServer } from '../support/server.js';

const DIST = fileURLToPath(new URL('../../dist/', import.meta.url));
const OPERATIONS = join(DIST, 'persistence/tools/operations/main.js');
const REPLAY = join(DIST, 'persistence/tools/replay/main.js');
const EXCHANGE = join(DIST, 'gateway/main.js');
const NOBODY = 65_534;

let used: Exchanges;
let root: string;
let data: string;
const mounts: string[] = [];

beforeAll(async () => {
  used = new Exchanges({ ASSETS: 'BTC' });
  const server = used.spawn();
  await used.listening(server);
  await eventually(() => existsSync(join(used.folder, 'snapshots')));
  await server.stop();
});
afterAll(() => used.end());
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'other-user-'));
  chmodSync(root, 0o755);
  data = join(root, 'data');
});
afterEach(() => {
  for (const mount of mounts.splice(0)) spawnSync('umount', [mount]);
  rmSync(root, { recursive: true, force: true });
});

/** Copies a folder that an exchange has used, and gives the copy to the user `nobody`. */
function copyForNobody(to = data): void {
  cpSync(used.folder, to, { recursive: true });
  giveTo(to, NOBODY);
}

function giveTo(path: string, uid: number): void {
  chownSync(path, uid, uid);
  if (lstatSync(path).isDirectory())
    for (const name of readdirSync(path)) giveTo(join(path, name), uid);
}

function asNobody(...program: string[]): SpawnSyncReturns<string> {
  const { PATH } = process.env;
  return spawnSync(process.execPath, program, {
    encoding: 'utf8',
    timeout: 60_000,
    uid: NOBODY,
    gid: NOBODY,
    env: { PATH, PORT: '0', ASSETS: 'BTC', DATA_FOLDER: data },
  });
}

/** Follows the program's advice as root. */
function follow(text: string): void {
  const command = /: ((?:chown|chmod|install|mount) [^\n]*?)[.]?$/m.exec(text)?.[1];
  expect(command, text).toBeDefined();
  expect(spawnSync('sh', ['-c', command!]).status, command).toBe(0);
}

const WAYS: Record<string, { make(): void; programs: string[][]; named(): string }> = {
  'a copy into a folder of root': {
    make: copyForNobody,
    programs: [
      [OPERATIONS, 'backup', '--data', 'DATA', '--to', 'ROOT/copy'],
      [OPERATIONS, 'restore', '--data', 'DATA', '--to', 'ROOT/copy'],
      [OPERATIONS, 'copy', '--from', 'DATA', '--to', 'ROOT/copy'],
    ],
    named: () => join(root, 'copy'),
  },
  'a whole folder of root': {
    make: () => {
      copyForNobody();
      giveTo(data, 0);
      chmodSync(data, 0o700);
      mkdirSync(join(root, 'out'));
      giveTo(join(root, 'out'), NOBODY);
    },
    programs: [
      [OPERATIONS, 'archive', '--data', 'DATA', '--to', 'ROOT/out/archive'],
      [REPLAY, '--data', 'DATA', 'verify'],
    ],
    named: () => data,
  },
  'a disk that is read-only': {
    make: () => {
      copyForNobody(join(root, 'disk'));
      mkdirSync(data);
      if (spawnSync('mount', ['--bind', join(root, 'disk'), data]).status !== 0) return;
      mounts.push(data);
      const { status, stderr } = spawnSync('mount', ['-o', 'remount,bind,ro', data]);
      expect(status, String(stderr)).toBe(0);
    },
    programs: [[EXCHANGE]],
    named: () => data,
  },
};

describe.skipIf(process.getuid!() !== 0)('the user of a program', () => {
  for (const [way, { make, programs, named }] of Object.entries(WAYS))
    test(`${way}: each program names the file, the user and the command that mends it`, async ({
      skip,
    }) => {
      for (const program of programs) {
        make();
        skip(way.includes('disk') && mounts.length === 0, 'this user cannot mount');
        const args = program.map((each) => each.replace('DATA', data).replace('ROOT', root));
        const run = () => asNobody(...args);
        const { status, stdout, stderr } = run();
        const said = stdout + stderr;
        expect(status, said).not.toBe(0);
        expect(said).not.toMatch(/^\s+at /m);
        expect(said).toContain(named());
        expect(said).toMatch(/nobody|read-only/);
        follow(said);
        if (program[0] === EXCHANGE) await expectOpen();
        else expect(run(), said).toMatchObject({ status: 0 });
        for (const mount of mounts.splice(0)) spawnSync('umount', [mount]);
        for (const name of readdirSync(root)) rmSync(join(root, name), { recursive: true });
      }
    });

  test('a history of root: trading goes on, and the log has the command, not stack traces', async () => {
    copyForNobody();
    chownSync(join(data, 'history', 'catalogue.db'), 0, 0);
    chmodSync(join(data, 'history', 'catalogue.db'), 0o600);
    const server = used.spawn({ DATA_FOLDER: data }, [], NOBODY);
    await used.listening(server);
    await eventually(() => server.stderr.includes('"remedy"'));
    expect(server.stderr).toContain(`"file":"${data}/history/catalogue.db"`);
    expect(server.stderr).not.toContain('    at ');
    follow(`: ${/"remedy":"[^"]*: (chown[^"]*)"/.exec(server.stderr)![1]}`);
    await eventually(() => server.stderr.includes('the history can be made again'));
    await server.stop();
  });

  test('a full segment of root: trading goes on, and the log has the command that lets it be sealed', async () => {
    mkdirSync(data, { mode: 0o700 });
    const first = await TestServer.start({ segmentBytes: 12_000 }, data);
    first.feed.deliver('BTC', 100_000);
    const trader = await first.register('ada');
    const order = { outcome: 'UP', shares: 10, price: 0.25, timeInForce: 'GTC' };
    await eventually(async () => {
      for (let count = 0; count < 20; count++) await first.buy(trader, order);
      return listSegments(data).length > 2;
    });
    await first.close();
    giveTo(data, NOBODY);
    const [{ path }] = listSegments(data) as [Segment];
    chownSync(path, 0, 0);
    chmodSync(path, 0o644);
    const server = used.spawn({ DATA_FOLDER: data, ACCEPT_CLOCK: 'on' }, [], NOBODY);
    await used.listening(server);
    await eventually(() => server.stderr.includes('cannot be sealed'));
    expect(server.stderr).toContain(`"file":"${path}"`);
    follow(`: ${/"remedy":"[^"]*: (chown[^"]*)"/.exec(server.stderr)![1]}`);
    await eventually(() => isSealed(path));
    await server.stop();
  });

  async function expectOpen(): Promise<void> {
    const server = used.spawn({ DATA_FOLDER: data }, [], NOBODY);
    await used.listening(server);
    await server.stop();
    expect(existsSync(data)).toBe(true);
  }
});
