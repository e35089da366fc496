/**
 * Power cuts. The built program trades on a watched disk. Then the disk is rebuilt as a cut at any
 * of thousands of moments could have left it, with unsynced data missing, torn or present. The
 * exchange starts on each of these disks, contains every command that had been reported by then,
 * and is in a state that the journal once had, without half a command. Every byte sent to a socket
 * counts as reported.
 */
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { Engine } from '../../../engine/engine.js';
import { sessionSecrets } from '../../../gateway/access/secret.js';
import { Sessions } from '../../../gateway/access/sessions.js';
import { JournalError } from '../../../persistence/journal/errors.js';
import { openJournalReader } from '../../../persistence/journal/reader.js';
import { extent, SEED } from '../../support/extent.js';
import { replay } from '../../support/journal-fixture.js';
import { ChildServer } from '../../support/programs.js';
import { TestServer } from '../../support/server.js';
import { Random } from '../../support/workload/random.js';
import { DiskAt, type Entry, type Luck, readDiskLog } from '../disk/disk-log.js';
import { DiskLayer, whyNoLayer } from '../disk/layer.js';
import { trade } from '../disk/scenario.js';

const CUTS = extent(200);
/** Enough for several segments, so that cuts hit their change and sealing. */
const COMMANDS = 8_000;
/** After this many cuts, the answers of the history are compared with those from the journal. */
const COMPARE_EVERY = 4;
/** The write-ahead log of a segment. */
const JOURNAL_LOG = /^journal(-\d+)?\.db-wal$/;
const SEQUENCES = /"sequence":(\d+)/g;

const without = whyNoLayer();
beforeEach(({ skip }) => skip(without !== null, without ?? ''));
let layer: DiskLayer;
beforeAll(() => {
  if (without === null) layer = new DiskLayer();
});
const work = mkdtempSync(join(tmpdir(), 'exchange-power-'));

/** An exchange that ran on a watched disk. */
interface Watched {
  entries: Entry[];
  /** The hash of each batch of the journal, by the batch's last sequence. */
  hashes: Map<number, string>;
  /** The time of its last command. */
  atMs: number;
}
let watched: Watched;

beforeAll(
  async () => {
    if (without === null) watched = await watchedRun();
  },
  240_000 + COMMANDS * 100,
);

async function watchedRun(): Promise<Watched> {
  const folder = join(work, 'original');
  const log = join(work, 'log');
  const server = ChildServer.spawn({
    ...layer.variables(folder, { log }),
    DATA_FOLDER: folder,
    HOUSE: 'off',
    ASSETS: 'BTC,ETH',
    FEED_SPEED: '60',
    SNAPSHOT_EVERY_COMMANDS: '1000',
    SEGMENT_MEGABYTES: '1',
    LOG_LEVEL: 'error',
  });
  const api = await server.listening();
  await trade(api, COMMANDS, new Random(`${SEED}:trade`));
  await api.close();
  expect(await server.stop(), server.stderr).toBe(0);
  const hashes = new Map<number, string>();
  const reader = await openJournalReader(folder);
  for await (const { lastSequence, hash } of reader.batches())
    hashes.set(lastSequence, hash.toString('hex'));
  await reader.close();
  const engine = new Engine();
  await replay(folder, engine);
  return { entries: readDiskLog(log), hashes, atMs: engine.nowMs };
}

afterAll(() => {
  layer?.remove();
  rmSync(work, { recursive: true, force: true });
});

/**
 * The moments at which a cut differs from the one before: a sync, a change of a name, something
 * sent.
 */
function moments(entries: readonly Entry[]): { common: number[]; rare: number[] } {
  const common: number[] = [];
  const rare: number[] = [];
  for (const [at, { kind, payload }] of entries.entries()) {
    if (kind === 'send') common.push(at + 1);
    else if (kind === 'syncStart' || kind === 'syncEnd')
      (JOURNAL_LOG.test(payload.toString('latin1')) ? common : rare).push(at + 1);
    else if (kind === 'rename' || kind === 'unlink' || kind === 'truncate' || kind === 'create')
      rare.push(at + 1);
  }
  return { common, rare };
}

function chosenCuts(random: Random): number[] {
  const { common, rare } = moments(watched.entries);
  return Array.from({ length: CUTS }, (_, i) => random.pick(i % 2 === 0 ? common : rare));
}

/** The highest sequence that had been sent to a client before the cut. */
function toldBefore(entries: readonly Entry[], cut: number): number {
  let told = 0;
  for (let at = 0; at < cut; at++) {
    const { kind, payload } = entries[at]!;
    if (kind !== 'send') continue;
    for (const [, digits] of payload.toString('latin1').matchAll(SEQUENCES))
      told = Math.max(told, Number(digits));
  }
  return told;
}

/** The answers to a user and to a stranger, without the exchange's present position. */
async function answersOf(server: TestServer): Promise<string> {
  const sessions = new Sessions(sessionSecrets(server.folder));
  const { engine } = server.exchange.sequencer;
  const answers: unknown[] = [];
  for (let userId = 1; userId <= engine.userCount; userId++) {
    const token = await sessions.issue(userId, engine.credentialVersion(userId), watched.atMs);
    for (const what of ['balance', 'orders?limit=100', 'trades?limit=100', 'points?limit=100'])
      answers.push((await server.api.read(`/users/u${userId}/${what}`, token)).json);
  }
  answers.push((await server.api.read('/markets/15m/history?limit=50')).json);
  const isPlace = (name: string) => name === 'sequence' || name === 'nextCursor';
  return JSON.stringify(answers, (name, value) => (isPlace(name) ? undefined : value));
}

/**
 * Starts on the disk after the cut. Returns the last sequence of the original journal that
 * survived.
 */
async function startAfter(cut: number, luck: Luck, isCompared: boolean): Promise<number> {
  const folder = join(work, `cut-${cut}`);
  new DiskAt(watched.entries, cut).writeTo(folder, luck);
  const server = await TestServer.start({}, folder, watched.atMs);
  try {
    server.submit({ kind: 'advanceTime' });
    await server.followed();
    if (isCompared) await expectHistoryOfJournal(server);
    const survived = await survivedIn(folder, watched.hashes);
    expect(survived).toBeGreaterThanOrEqual(toldBefore(watched.entries, cut));
    return survived;
  } finally {
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The last sequence of the original journal that this journal contains, in whole batches. */
async function survivedIn(folder: string, hashes: Map<number, string>): Promise<number> {
  const reader = await openJournalReader(folder);
  let survived = 0;
  for await (const { lastSequence, hash } of reader.batches()) {
    if (hashes.get(lastSequence) !== hash.toString('hex')) break;
    survived = lastSequence;
  }
  await reader.close();
  return survived;
}

/**
 * Checks that the surviving history and snapshots change no answer: the journal alone gives the
 * same.
 */
async function expectHistoryOfJournal(server: TestServer): Promise<void> {
  const answers = await answersOf(server);
  const bare = join(work, 'bare');
  cpSync(server.folder, bare, { recursive: true });
  for (const name of readdirSync(bare))
    if (name.startsWith('history') || name === 'snapshots')
      rmSync(join(bare, name), { recursive: true });
  const copy = await TestServer.start({}, bare, watched.atMs);
  try {
    await copy.followed();
    expect(await answersOf(copy)).toBe(answers);
  } finally {
    await copy.close();
    rmSync(bare, { recursive: true, force: true });
  }
}

test('after a cut at any moment everything that was told is there', async () => {
  const random = new Random(`${SEED}:cuts`);
  let recovered = 0;
  const cuts = chosenCuts(random);
  for (const [i, cut] of cuts.entries()) {
    const luck = random.pick<Luck>(['nothing', 'everything', random, random]);
    const what = `cut ${cut} of ${watched.entries.length}, seed ${SEED}`;
    await startAfter(cut, luck, i % COMPARE_EVERY === 0).then(
      (survived) => (recovered += survived > 0 ? 1 : 0),
      (error: Error) => {
        throw new Error(`${what}: ${error.message}`, { cause: error });
      },
    );
  }
  expect(recovered).toBeGreaterThan(cuts.length / 4);
}, 3_600_000);

test('the cuts are real: on a disk that does not sync, what was told is gone', async () => {
  const { entries, hashes } = watched;
  const lastSend = entries.findLastIndex(({ kind }) => kind === 'send') + 1;
  const isLogSync = ({ kind, payload }: Entry) =>
    kind === 'syncEnd' && JOURNAL_LOG.test(payload.toString('latin1'));
  const lying = entries.slice(0, lastSend).filter((entry) => !isLogSync(entry));
  const folder = join(work, 'lost');
  new DiskAt(lying, lying.length).writeTo(folder, 'nothing');
  // With several segments, a reader may refuse the remaining ones.
  const survived = await survivedIn(folder, hashes).catch((error: unknown) => {
    if (error instanceof JournalError) return 0;
    throw error;
  });
  expect(survived).toBeLessThan(toldBefore(entries, lastSend));
});
