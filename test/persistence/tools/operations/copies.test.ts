/**
 * Backup while trading; restore to a sequence or a time, also of a damaged journal. Every copy must
 * pass `replay verify` and lead to the state at its end.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { lastBackup } from '../../../../persistence/recovery/last-backup.js';
import { listSnapshots } from '../../../../persistence/recovery/snapshot/folder.js';
import { eventually } from '../../../support/eventually.js';
import { type Operation, operate } from '../../../support/folders/operations.js';
import { isVouchedFor } from '../../../support/folders/vouched.js';
import { Folders, flip, readAll, start } from '../../../support/journal-fixture.js';
import { ReplayExchange } from '../../../support/replay-exchange.js';
import { replayJson, replayTool, traceOf } from '../../../support/replay-tool.js';
import { TestServer } from '../../../support/server.js';

const SECRET = 's'.repeat(43);
const folders = new Folders();
const originals = new Folders();
/** A folder of an exchange that was stopped. Tests only read it. */
let original: string;
let exchange: ReplayExchange;

beforeAll(async () => {
  original = originals.make();
  exchange = await ReplayExchange.open(original, 'copies');
  await exchange.run(900);
  await exchange.sequencer.close();
  writeFileSync(join(original, 'session-secret'), SECRET, { mode: 0o600 });
});
afterEach(() => folders.removeAll());
afterAll(() => originals.removeAll());

async function good(run: Promise<Operation>): Promise<string> {
  const { status, out, err } = await run;
  expect(err).toBe('');
  expect(status).toBe(0);
  return out;
}

async function expectVerified(folder: string, sequence: number): Promise<void> {
  expect(await replayJson(folder, 'verify')).toMatchObject({ good: true, sequence });
}

describe('a backup', () => {
  it('does not replace a good secret with a damaged one', async () => {
    const [from, to] = [folders.copy(original), folders.make()];
    await good(operate('backup', '--data', from, '--to', to));
    writeFileSync(join(from, 'session-secret'), 'garbage');
    const { status, err } = await operate('backup', '--data', from, '--to', to);
    expect(status).toBe(2);
    expect(err).toContain('session-secret is damaged');
    expect(readFileSync(join(to, 'session-secret'), 'utf8')).toBe(SECRET);
  });

  it('is the same journal, with the secret, and nothing in the original changes', async () => {
    const to = folders.make();
    // Excludes the note for the running exchange.
    const trace = () => traceOf(original).filter((line) => !/^(\.|last-backup) /.test(line));
    const before = trace();
    const out = await good(operate('backup', '--data', original, '--to', to));
    expect(out).toContain(`up to sequence ${exchange.engine.sequence}`);
    expect(trace()).toEqual(before);
    expect(lastBackup(original)).toEqual({
      sequence: exchange.engine.sequence,
      atMs: expect.any(Number),
    });
    expect(existsSync(join(to, 'last-backup'))).toBe(false);
    await expectVerified(to, exchange.engine.sequence);
    expect(await readAll(to)).toEqual(await readAll(original));
    expect(readFileSync(join(to, 'session-secret'), 'utf8')).toBe(SECRET);
    expect(statSync(join(to, 'session-secret')).mode & 0o777).toBe(0o600);
  });

  it('while the exchange trades has a durable end, and the second one adds what is new', async () => {
    const folder = folders.make();
    const to = folders.make();
    const live = await ReplayExchange.open(folder, 'live');
    let stopped = false;
    const trading = (async () => {
      await live.run(300);
      while (!stopped) {
        for (let i = 0; i < 7; i++) live.trade();
        await live.settle();
      }
    })();
    await eventually(() => live.sequencer.durableSequence > 100);
    let last = 0;
    for (let i = 0; i < 4; i++) {
      const durable = live.sequencer.durableSequence;
      const out = await good(operate('backup', '--data', folder, '--to', to));
      const [, end, copied] = /up to sequence (\d+), .*: (\d+) commands/.exec(out)!.map(Number);
      expect(end).toBeGreaterThanOrEqual(durable);
      expect(copied).toBe(end! - last);
      last = end!;
      await expectVerified(to, last);
      await eventually(() => live.sequencer.durableSequence > last);
    }
    stopped = true;
    await trading;
    await live.sequencer.close();
    await good(operate('backup', '--data', folder, '--to', to));
    expect(await readAll(to)).toEqual(await readAll(folder));
  });

  it('that was interrupted is refused by a start and by a restore, and goes on when it is made again', async () => {
    const to = folders.make();
    const { lastSequence } = (await readAll(original))[20]!;
    const args = ['--data', original, '--to', to, '--at', String(lastSequence)];
    await good(operate('restore', ...args));
    writeFileSync(join(to, 'unfinished-copy'), '');
    const refused = 'is a copy that was interrupted';
    await expect(TestServer.start({}, to)).rejects.toThrow(refused);
    const restored = await operate('restore', '--data', to, '--to', folders.make());
    expect([restored.status, restored.err]).toEqual([1, expect.stringContaining(refused)]);
    const verified = await replayTool(to, 'verify');
    expect([verified.status, verified.err]).toEqual([1, expect.stringContaining(refused)]);
    const out = await good(operate('backup', '--data', original, '--to', to));
    expect(out).toContain(`up to sequence ${exchange.engine.sequence}`);
    await expectVerified(to, exchange.engine.sequence);
    expect(readFileSync(join(to, 'session-secret'), 'utf8')).toBe(SECRET);
  });

  it('of another exchange is not continued', async () => {
    const other = folders.make();
    const stranger = await ReplayExchange.open(other, 'stranger');
    await stranger.run(50);
    await stranger.sequencer.close();
    const before = await readAll(other);
    const run = await operate('backup', '--data', original, '--to', other);
    expect(run.status).toBe(2);
    expect(run.err).toMatch(/a copy of a different exchange/);
    expect(await readAll(other)).toEqual(before);
  });

  it('has the newest snapshot that it proves, and an exchange starts on it', async () => {
    const folder = folders.make();
    const before = await ReplayExchange.open(folder, 'served');
    await before.run(200);
    await before.sequencer.close();
    const server = await TestServer.start({ snapshotEveryCommands: 20 }, folder, before.nowMs);
    for (let i = 0; i < 30; i++) {
      server.submit({ kind: 'advanceTime' });
      await server.durable();
    }
    await eventually(() => isVouchedFor(folder));
    await server.durable();
    const to = folders.make();
    const out = await good(operate('backup', '--data', folder, '--to', to));
    const [newest] = listSnapshots(to);
    expect(out).toContain(`snapshot at sequence ${newest!.sequence}`);
    await server.close();
    const { end, engine } = await start(to);
    expect(engine.digest()).toBe(end.digest);
    const restarted = await TestServer.start({}, to, before.nowMs);
    await restarted.close();
    expect((await replayJson(to, 'verify')).good).toBe(true);
  });
});

describe('a restore', () => {
  it('to a sequence within a batch has the state of that moment', async () => {
    const ends = new Set((await readAll(original)).map(({ lastSequence }) => lastSequence));
    const within = exchange.checkpoints.filter(({ sequence }) => !ends.has(sequence));
    expect(within.length).toBeGreaterThan(0);
    for (const { sequence, digest, funds } of within.slice(0, 2)) {
      const to = folders.make();
      const args = ['--data', original, '--to', to, '--at', String(sequence)];
      expect(await good(operate('restore', ...args))).toContain(digest);
      await expectVerified(to, sequence);
      const { engine } = await start(to);
      expect([engine.sequence, engine.digest()]).toEqual([sequence, digest]);
      expect(engine.funds()).toEqual(funds);
    }
  });

  it('to a time has the last command not after it', async () => {
    const { times } = exchange;
    const sequence = Math.floor(times.length / 2);
    for (const atMs of [times[sequence]!, times[sequence]! + 1]) {
      const last = times.findLastIndex((time) => time <= atMs);
      const to = folders.make();
      const at = new Date(atMs).toISOString();
      await good(operate('restore', '--data', original, '--to', to, '--at', at));
      await expectVerified(to, last);
    }
  });

  it('has the secret if nothing is left out; else a token of one user could become that of another', async () => {
    const [whole, part] = [folders.make(), folders.make()];
    const { sequence } = exchange.engine;
    await good(operate('restore', '--data', original, '--to', whole, '--at', String(sequence)));
    expect(readFileSync(join(whole, 'session-secret'), 'utf8')).toBe(SECRET);
    const args = ['--data', original, '--to', part, '--at', String(sequence - 1)];
    expect(await good(operate('restore', ...args))).toContain('every user signs in again');
    expect(existsSync(join(part, 'session-secret'))).toBe(false);
  });

  it('keeps its secret when a damaged folder adds to it, and that is said', async () => {
    const [damaged, copy, to] = [folders.copy(original), folders.make(), folders.make()];
    const early = String((await readAll(original))[9]!.lastSequence);
    await good(operate('restore', '--data', original, '--to', copy, '--at', early));
    await flip(damaged, (await readAll(original)).at(-2)!.firstSequence, 'records');
    const add = async (target: string) => {
      const { status, out } = await operate('backup', '--data', damaged, '--to', target);
      expect(status).toBe(1);
      return out;
    };
    expect(await add(copy)).toContain('every user signs in again, because');
    writeFileSync(join(copy, 'session-secret'), SECRET, { mode: 0o600 });
    await good(operate('restore', '--data', copy, '--to', to));
    expect(await add(to)).toContain('The session secret that it had stays in it');
    expect(readFileSync(join(to, 'session-secret'), 'utf8')).toBe(SECRET);
  });

  it('is traded on, and its backup continues', async () => {
    const to = folders.make();
    await good(operate('restore', '--data', original, '--to', to, '--at', '500'));
    const again = await ReplayExchange.open(to, 'again');
    for (let i = 0; i < 40; i++) again.trade();
    await again.settle();
    await again.sequencer.close();
    await expectVerified(to, 540);
  });

  it('refuses a folder with files, and a point beyond the end', async () => {
    const to = folders.make();
    mkdirSync(to, { recursive: true });
    writeFileSync(join(to, 'notes'), '');
    const used = await operate('restore', '--data', original, '--to', to);
    expect([used.status, used.err]).toEqual([2, expect.stringContaining('is not empty')]);
    const beyond = folders.make();
    const { sequence } = exchange.engine;
    const endMs = exchange.times[sequence]!;
    for (const at of ['1000000', new Date(endMs + 1).toISOString()]) {
      const args = ['--data', original, '--to', beyond, '--at', at];
      const { status, err } = await operate('restore', ...args);
      expect([status, err]).toEqual([2, expect.stringContaining(`ends at sequence ${sequence}, `)]);
      expect(existsSync(beyond)).toBe(false);
      await good(operate('restore', ...args, '--or-earlier'));
      await expectVerified(beyond, sequence);
      rmSync(beyond, { recursive: true });
    }
    await good(
      operate('restore', '--data', original, '--to', beyond, '--at', new Date(endMs).toISOString()),
    );
    rmSync(beyond, { recursive: true });
    const odd = await operate('restore', '--data', original, '--to', beyond, '--at', 'noon');
    expect([odd.status, odd.err]).toEqual([2, expect.stringContaining('neither a sequence')]);
  });
});

describe('a restore of a damaged folder', () => {
  it('keeps the good beginning in a new folder, and never touches the damaged one', async () => {
    const folder = folders.copy(original);
    const bad = (await readAll(original))[30]!.firstSequence;
    await flip(folder, bad, 'records');
    const before = traceOf(folder);
    const to = folders.make();
    const keep = bad - 1;
    const restored = (at: number, into: string) =>
      operate('restore', '--data', folder, '--at', String(at), '--to', into);
    const out = await good(restored(keep, to));
    expect(out).toContain(`It lacks ${exchange.engine.sequence - keep} later commands`);
    expect(traceOf(folder)).toEqual(before);
    await expectVerified(to, keep);
    expect(existsSync(join(to, 'session-secret'))).toBe(false);
    const beyond = folders.make();
    const refused = await restored(bad, beyond);
    expect(refused.status).toBe(1);
    expect(existsSync(beyond)).toBe(false);
    expect(refused.err).toContain(`sequence ${bad}`);
  });
});

it('an archive that is not there, or has nothing, brings nothing back', async () => {
  const archive = folders.make();
  const restore = ['archive', '--data', original, '--to', archive, '--restore'];
  const none = await operate(...restore);
  expect([none.status, none.err]).toEqual([2, expect.stringContaining('there is no folder')]);
  mkdirSync(archive);
  expect(await good(operate(...restore))).toContain('No segment was brought back');
});

it('a takeover is of a journal on PostgreSQL', async () => {
  const { status, err } = await operate('takeover', '--journal', original);
  expect([status, err]).toEqual([2, expect.stringContaining('must begin with postgres://')]);
});

it.each([
  ['backup', '--to', 'TO'],
  ['restore', '--to', 'TO'],
  ['archive', '--to', 'TO'],
  ['upgrade', '--to', 'TO'],
])('%s of a folder that is not there, or has no journal, is a wrong request', async (...args) => {
  const nothing = folders.make();
  for (const make of [false, true]) {
    if (make) mkdirSync(nothing, { recursive: true });
    const to = folders.make();
    const run = await operate(...args.map((arg) => arg.replace('TO', to)), '--data', nothing);
    const why = make ? 'holds no journal' : 'there is no folder';
    expect([run.status, run.err]).toEqual([2, expect.stringContaining(why)]);
    expect(existsSync(to)).toBe(false);
  }
});
