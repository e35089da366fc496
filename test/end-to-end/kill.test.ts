/**
 * The built program, killed with SIGKILL repeatedly while clients trade on many connections, and
 * restarted on the same folder. Acknowledged changes exist exactly once, others completely or not
 * at all; a key returns its first answer; a number (Client-Sequence) that was executed is refused
 * for ever; and every digest shown is the journal's. Snapshots and history are intact, with every
 * third kill during a snapshot.
 *
 * SEED repeats the choices and, as far as a clock allows, the times of the kills.
 */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { Random } from '../../bench/workload/random.js';
import type { Engine } from '../../engine/engine.js';
import { CODES, Code } from '../../engine/interface/codes.js';
import type { Command } from '../../engine/interface/commands.js';
import { marketIdText } from '../../engine/interface/notation.js';
import { RESULT_HEAD_LENGTH, ResultHead } from '../../engine/interface/results.js';
import { rejection } from '../../gateway/http/errors.js';
import { orderReceipt } from '../../gateway/resources/orders/order-receipt.js';
import { cancelReceipt, claimReceipt } from '../../gateway/resources/orders/receipts.js';
import { eventually } from '../support/eventually.js';
import { extent, SEED } from '../support/extent.js';
import { replayJournal } from '../support/journal-fixture.js';
import { type ChildServer, Exchanges, programJson } from '../support/programs.js';
import {
  type Attempt,
  type Floor,
  isConnectionLost,
  type KillClient,
  KillMaker,
  KillTaker,
  register,
} from './kill/kill-client.js';

const KILLS = extent(100, 2);
const TAKERS = 24;
const MAKERS = 8;
const BALANCE = 10_000;
/** A market lasts 7.5 s, and a key 30 s: longer than a slow machine takes to send it again. */
const SPEED = 120;
const LIMIT_MS = 120_000 + KILLS * 40_000;
const SNAPSHOT_WAIT_MS = 2_000;
/** More than can have been resolved since the last look, so that no client misses one. */
const RESOLVED_AT_START = 50;

interface Status {
  sequence: number;
  digest: string;
}

/** A client's command in the journal. */
interface Executed {
  isReplay: boolean;
  /** Its number was not greater than that of an executed one: it was refused. */
  isStale: boolean;
  text: string;
}

const exchanges = new Exchanges({
  ASSETS: 'BTC',
  FEED_SPEED: `${SPEED}`,
  STARTING_BALANCE: `${BALANCE}`,
  SNAPSHOT_EVERY_COMMANDS: '1000',
  LOG_LEVEL: 'warn',
});
const { folder } = exchanges;
let server: ChildServer;
const random = new Random(SEED);
const clients: KillClient[] = [];
const statuses: Status[] = [];
const floor = { attempts: 0, nowMs: 0, marketId: '', resolved: new Map() } as Omit<
  Floor,
  'api'
> as Floor;

afterAll(() => exchanges.end());

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function start(): Promise<void> {
  server = exchanges.spawn();
  floor.api = await exchanges.listening(server);
  await look(RESOLVED_AT_START);
}

async function registerClients(): Promise<void> {
  for (let i = 0; i < TAKERS + MAKERS; i++) {
    const { userId, token } = await register(floor.api, `client-${i}`, i % 4 < 2);
    const ownRandom = new Random(`${SEED}:${i}`);
    const repeating = (['keyed', 'numbered', 'bare'] as const)[i % 3]!;
    clients.push(
      i < TAKERS
        ? new KillTaker(floor, userId, token, repeating, ownRandom, BALANCE)
        : new KillMaker(floor, userId, token, repeating, ownRandom),
    );
  }
}

/**
 * Reads the active market, resolved markets, and the digest. Returns false if the exchange is about
 * to stop.
 */
async function look(resolvedCount = 5): Promise<boolean> {
  const { api } = floor;
  const active = await api.get('/markets/15m');
  const resolved = await api.get(`/markets?status=resolved&limit=${resolvedCount}`);
  const status = await api.get('/status');
  if ([active, resolved, status].some((answer) => answer.status === 503)) return false;
  floor.nowMs = active.json.serverTimeMs;
  floor.marketId = active.json.markets[0]?.id ?? '';
  for (const { id, resolution } of resolved.json.markets) floor.resolved.set(id, resolution);
  statuses.push(status.json);
  return true;
}

async function keepLooking(): Promise<void> {
  try {
    while (await look()) await sleep(20);
  } catch (error) {
    if (!isConnectionLost(error)) throw error;
  }
}

/** Files of snapshots that were unfinished at the time of the kill. */
function unfinishedSnapshots(): string[] {
  const snapshots = join(folder, 'snapshots');
  return existsSync(snapshots)
    ? readdirSync(snapshots).filter((name) => name.endsWith('.tmp'))
    : [];
}

/** Resolves when a snapshot is being written, or after a while if none is. */
async function whileSnapshotIsWritten(): Promise<void> {
  const from = performance.now();
  while (unfinishedSnapshots().length === 0 && performance.now() - from < SNAPSHOT_WAIT_MS)
    await sleep(1);
}

/** Lets the clients trade and kills the exchange; sometimes it is about to stop by itself. */
async function killUnderLoad(moment: () => Promise<unknown>): Promise<void> {
  const before = floor.attempts;
  const traffic = Promise.all([keepLooking(), ...clients.map((client) => client.run())]);
  await eventually(() => floor.attempts - before > 3 * clients.length);
  await Promise.race([moment(), traffic]);
  if (random.chance(0.15)) {
    server.child.kill('SIGTERM');
    await sleep(random.whole(0, 20));
  }
  await server.stop('SIGKILL');
  await traffic;
  await floor.api.close();
  expect(server.stderr).not.toMatch(/"level":"(error|fatal)"/);
}

/** Kills it during its start. */
async function killAtStart(): Promise<void> {
  const child = exchanges.spawn();
  await sleep(random.whole(0, 600));
  await child.stop('SIGKILL');
}

describe(`kill -9, SEED=${SEED}`, () => {
  test('loses nothing that was acknowledged and executes nothing twice', {
    timeout: LIMIT_MS,
  }, async () => {
    await start();
    await registerClients();
    let unfinished = 0;
    for (let kill = 0; kill < KILLS; kill++) {
      await killUnderLoad(
        kill % 3 === 0 ? whileSnapshotIsWritten : () => sleep(random.whole(20, 900)),
      );
      unfinished += unfinishedSnapshots().length;
      if (kill % 5 === 4) await killAtStart();
      await start();
      await Promise.all(clients.map((client) => client.findOut()));
      await look();
    }
    const { sequence } = (await floor.api.read('/leaderboard?metric=volume&period=all')).json;
    expect(await server.stop()).toBe(0);
    // Whatever the kills interrupted, history and snapshots match the journal, entry by entry and
    // byte by byte.
    const { good, history, snapshots } = await programJson(folder, 'verify');
    expect(good).toBe(true);
    // Three are kept. A kill between writing a snapshot and removing the oldest leaves a fourth.
    expect(snapshots.length).toBeLessThan(5);
    expect(history.sequence).toBeGreaterThanOrEqual(sequence);
    expect(unfinishedSnapshots()).toEqual([]);
    const executed = await readJournal();
    const counts: Counts = {
      acknowledged: 0,
      refusals: 0,
      executedUnseen: 0,
      notExecuted: 0,
      replays: 0,
      stale: 0,
    };
    for (const client of clients) {
      for (const attempt of client.attempts)
        check(attempt, executed.get(attempt.mark) ?? [], counts);
      for (const { mark } of client.attempts) executed.delete(mark);
    }
    expect([...executed.keys()], 'commands that no client sent').toEqual([]);
    process.stdout.write(
      `killed ${KILLS} times under load, ${unfinished} times while a snapshot was written; ${statuses.at(-1)!.sequence} commands; ${JSON.stringify(counts)}; ` +
        `${floor.resolved.size} markets resolved\n`,
    );
    expect(counts.acknowledged).toBeGreaterThan(KILLS * clients.length);
    const { executedUnseen, notExecuted, replays, stale } = counts;
    expect(executedUnseen + notExecuted, 'interrupted commands').toBeGreaterThan(0);
    // Which cases a few kills reach is chance; a hundred reach each of them.
    if (KILLS < 100) return;
    expect(snapshots.length).toBeGreaterThan(2);
    expect(unfinished, 'kills during a snapshot').toBeGreaterThan(0);
    expect(Math.min(executedUnseen, notExecuted, replays, stale)).toBeGreaterThan(0);
  });
});

/** Replays the journal: every client's command by its mark, and the digests that were shown. */
async function readJournal(): Promise<Map<string, Executed[]>> {
  const digests = new Map(statuses.map(({ sequence, digest }) => [sequence, digest]));
  expect(digests.size).toBeGreaterThan(KILLS);
  const users = new Set(clients.map(({ userId }) => Number(userId.slice(1))));
  const executed = new Map<string, Executed[]>();
  const engine = await replayJournal(folder, (engine, command) => {
    const shown = digests.get(engine.sequence);
    if (shown !== undefined) expect(engine.digest()).toBe(shown);
    digests.delete(engine.sequence);
    const mark = markOf(engine, command, users);
    if (mark === null) return;
    const entry = {
      isReplay: engine.replayed,
      isStale: engine.result.values[ResultHead.code] === Code.client_sequence_stale,
      text: answerText(engine, command),
    };
    executed.set(mark, [...(executed.get(mark) ?? []), entry]);
  });
  expect([...digests.keys()], 'sequences that were shown but are missing').toEqual([]);
  engine.checkInvariants();
  return executed;
}

/** null: not a client's command. */
function markOf(engine: Engine, command: Command, users: ReadonlySet<number>): string | null {
  if (!('userId' in command) || !users.has(command.userId)) return null;
  switch (command.kind) {
    case 'buy':
    case 'sell':
      return `${command.validUntilMs}`;
    case 'cancel':
      return `cancel:o${command.orderId}`;
    // Made when the client registered.
    case 'createToken':
      return null;
    case 'claim':
      return `claim:u${command.userId}:${marketIdText(engine, command.marketId)}`;
    default:
      throw new Error(`no client sent a ${command.kind}`);
  }
}

/** The exact answer that the sender must have received. */
function answerText(engine: Engine, command: Command): string {
  const { kind } = command;
  const { result } = engine;
  const code = CODES[result.values[ResultHead.code]!]!;
  if (code !== 'ok') {
    const [required, available] = result.values.slice(RESULT_HEAD_LENGTH);
    return rejection(code, required!, available!).text;
  }
  const receipt =
    kind === 'cancel' ? cancelReceipt : kind === 'claim' ? claimReceipt : orderReceipt;
  const text = receipt(engine, result, 0, command);
  return typeof text === 'string' ? text : Buffer.from(text).toString();
}

interface Counts {
  acknowledged: number;
  refusals: number;
  /** Executed, but the exchange was killed before it answered; determined without a key. */
  executedUnseen: number;
  notExecuted: number;
  replays: number;
  /** Numbers that were refused because they had been executed. */
  stale: number;
}

/** Compares the client's answers with what the journal says was executed. */
function check(attempt: Attempt, inJournal: readonly Executed[], counts: Counts): void {
  const { mark, answers, lostSends } = attempt;
  const acknowledged = answers.filter(({ status }) => status !== 503);
  expect(inJournal.length, `${mark} in the journal`).toBeGreaterThanOrEqual(acknowledged.length);
  expect(inJournal.length, `${mark} in the journal`).toBeLessThanOrEqual(
    acknowledged.length + lostSends,
  );
  const first = inJournal.filter(({ isReplay, isStale }) => !isReplay && !isStale);
  expect(first.length, `${mark} was executed ${first.length} times`).toBeLessThanOrEqual(1);
  if (first.length === 0) {
    expect(inJournal, `${mark} was refused, but never executed`).toEqual([]);
    counts.notExecuted++;
  } else if (attempt.clientSequence > 0) checkNumbered(attempt, acknowledged, inJournal, counts);
  else checkRepeated(acknowledged, inJournal, counts);
  if (acknowledged.length === 0) return;
  counts.acknowledged++;
  if (acknowledged[0]!.status !== 200) counts.refusals++;
}

type Acknowledged = Attempt['answers'];

/** All answers but the first are replays, which are equal to it. */
function checkRepeated(
  acknowledged: Acknowledged,
  inJournal: readonly Executed[],
  counts: Counts,
): void {
  for (const { text } of [...acknowledged, ...inJournal]) expect(text).toBe(inJournal[0]!.text);
  counts.replays += acknowledged.filter(({ isReplay }) => isReplay).length;
  if (acknowledged.length === 0 || acknowledged[0]!.isReplay) counts.executedUnseen++;
  const expectedReplays = acknowledged.map(
    (_, i) => i > 0 || inJournal.length > acknowledged.length,
  );
  expect(acknowledged.map(({ isReplay }) => isReplay)).toEqual(expectedReplays);
}

/** The journal's first entry is the execution; all others, which may be much later, are refused. */
function checkNumbered(
  { mark }: Attempt,
  acknowledged: Acknowledged,
  inJournal: readonly Executed[],
  counts: Counts,
): void {
  expect(inJournal[0]!.isStale, `${mark} was refused before it was executed`).toBe(false);
  // Only what is sent before the first answer is lost, so the answers are the journal's last.
  const texts = inJournal.map(({ text }) => text).slice(inJournal.length - acknowledged.length);
  expect(acknowledged.map(({ text }) => text)).toEqual(texts);
  expect(
    acknowledged.slice(1).every(({ isStale }) => isStale),
    `${mark} executed again`,
  ).toBe(true);
  counts.stale += acknowledged.filter(({ isStale }) => isStale).length;
  if (acknowledged.length === 0 || acknowledged[0]!.isStale) counts.executedUnseen++;
}
