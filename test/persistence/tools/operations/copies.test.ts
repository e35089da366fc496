/**
 * Backup while trading; restore to a sequence or a time, also of a damaged journal. Every copy must
 * pass `replay verify` and lead to the state at its end.
 */
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { JournalBatch } from '../../../../persistence/journal/store.js';
import { lastBackup } from '../../../../persistence/recovery/last-backup.js';
import { eventually } from '../../../support/eventually.js';
import { type Operation, operate } from '../../../support/folders/operations.js';
import { Folders, flip, readAll } from '../../../support/journal-fixture.js';
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
});

describe('a restore', () => {
  const isUpTo = (atMs: number) => (batch: JournalBatch) =>
    exchange.times[batch.lastSequence]! <= atMs;

  it('to a sequence or a time ends with the last batch up to it', async () => {
    const batches = await readAll(original);
    const within = batches.findIndex((one, i) => i > 0 && one.lastSequence > one.firstSequence);
    const [before, batch] = [batches[within - 1]!, batches[within]!];
    const atOf = (sequence: number) => new Date(exchange.times[sequence]!).toISOString();
    const points: [at: string, end: JournalBatch][] = [
      [`${batch.lastSequence}`, batch],
      [`${batch.lastSequence - 1}`, before],
      [atOf(batch.lastSequence), batches.findLast(isUpTo(exchange.times[batch.lastSequence]!))!],
    ];
    for (const [at, { lastSequence, digest }] of points) {
      const to = folders.make();
      const out = await good(operate('restore', '--data', original, '--to', to, '--at', at));
      expect(out).toContain(`up to sequence ${lastSequence}, digest ${digest}`);
      await expectVerified(to, lastSequence);
    }
  });

  it('has the secret if nothing is left out; else a token of one user could become that of another', async () => {
    const [whole, part] = [folders.make(), folders.make()];
    const { sequence } = exchange.engine;
    await good(operate('restore', '--data', original, '--to', whole, '--at', String(sequence)));
    expect(readFileSync(join(whole, 'session-secret'), 'utf8')).toBe(SECRET);
    const args = ['--data', original, '--to', part, '--at', String(sequence - 1)];
    expect(await good(operate('restore', ...args))).toContain('every user must sign in again');
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
    expect(await add(copy)).toContain('every user must sign in again, because');
    writeFileSync(join(copy, 'session-secret'), SECRET, { mode: 0o600 });
    await good(operate('restore', '--data', copy, '--to', to));
    expect(await add(to)).toContain('The folder keeps its session secret');
    expect(readFileSync(join(to, 'session-secret'), 'utf8')).toBe(SECRET);
  });

  it('refuses a folder with files, a point beyond the end, and what is no point', async () => {
    const to = folders.make();
    mkdirSync(to, { recursive: true });
    writeFileSync(join(to, 'notes'), '');
    const used = await operate('restore', '--data', original, '--to', to);
    expect([used.status, used.err]).toEqual([2, expect.stringContaining('is not empty')]);
    const nowhere = folders.make();
    const points: [at: string, error: string][] = [
      ['1000000', `ends at sequence ${exchange.engine.sequence}`],
      ['2099-01-01T00:00:00Z', 'before 2099-01-01T00:00:00.000Z'],
      ['noon', 'neither a sequence'],
    ];
    for (const [at, error] of points) {
      const odd = await operate('restore', '--data', original, '--to', nowhere, '--at', at);
      expect([odd.status, odd.err]).toEqual([2, expect.stringContaining(error)]);
    }
    expect(existsSync(nowhere)).toBe(false);
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
