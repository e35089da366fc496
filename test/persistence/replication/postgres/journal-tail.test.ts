/**
 * The tail of a journal on a real cluster: an engine follows through changes of leader, changes of
 * primary and paused nodes, and stops when the journal leads elsewhere.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { Engine } from '../../../../engine/engine.js';
import { JournalTail, type TailWatcher } from '../../../../persistence/replication/journal-tail.js';
import { PostgresJournal } from '../../../../persistence/replication/postgres/postgres-journal.js';
import { PostgresSource } from '../../../../persistence/replication/postgres/postgres-source.js';
import { Sequencer } from '../../../../persistence/sequencer.js';
import { PostgresCluster, type PostgresNode } from '../../../support/cluster/postgres.js';
import { eventually } from '../../../support/eventually.js';
import { Random } from '../../../support/workload/random.js';

const START_MS = 1_763_700_300_000;
const log = { info: () => {}, warn: () => {} };
let cluster: PostgresCluster;
let folder: string;
const tails: JournalTail[] = [];
beforeAll(async () => {
  cluster = await PostgresCluster.start();
}, 120_000);
afterAll(() => cluster?.stop());
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'exchange-tail-'));
});
afterEach(async () => {
  for (const tail of tails.splice(0)) await tail.close();
  rmSync(folder, { recursive: true });
});

const random = new Random('tail');
/** The failure of the last leader. */
let failure: Error | null = null;

/** Opens the journal for an exchange that leads, and returns it with the engine. */
async function lead(engine: Engine, isForced = false) {
  failure = null;
  const journal = await PostgresJournal.takeOver({
    address: cluster.address,
    isUnreplicated: false,
    isForced,
  });
  const onFatal = (error: Error) => {
    failure = error;
  };
  const now = () => Math.max(START_MS, engine.nowMs) + 1;
  return new Sequencer({ engine, journal, now, onFatal });
}

async function trade(sequencer: Sequencer, commands: number): Promise<void> {
  const { engine } = sequencer;
  for (let i = 0; i < commands; i++) {
    const username = `trader-${engine.userCount + 1}`;
    const credential = `hash ${'é'.repeat(random.whole(0, 50))}`;
    const grant = { referralCode: '', grantMicros: random.whole(0, 1e9), partner: null };
    sequencer.submit({ kind: 'register', username, credential, ...grant });
  }
  await eventually(() => sequencer.backlog === 0 || failure !== null);
  expect(failure).toBeNull();
}

function open(pollEveryMs = 5): Promise<JournalTail> {
  const elapsedMs = () => performance.now();
  return JournalTail.open({ folder, address: cluster.address, log, elapsedMs, pollEveryMs });
}

async function follow(watcher: Partial<TailWatcher> = {}, pollEveryMs = 5): Promise<JournalTail> {
  const tail = await open(pollEveryMs);
  tails.push(tail);
  const onFatal = (error: Error) => {
    throw error;
  };
  tail.start({ onFatal, ...watcher });
  return tail;
}

async function expectSame(tail: JournalTail, { engine }: Sequencer): Promise<void> {
  await eventually(() => tail.end.sequence === engine.sequence);
  expect(tail.engine.digest()).toBe(engine.digest());
  expect(tail.end.digest).toBe(engine.digest());
}

test('follows from the end of what is there, command by command, through another leader', async () => {
  const engine = new Engine();
  let leader = await lead(engine);
  await trade(leader, 20);
  const sequences: number[] = [];
  const ends: number[] = [];
  const tail: JournalTail = await follow({
    applied: () => sequences.push(tail.engine.sequence),
    batchApplied: ({ lastSequence }) => ends.push(lastSequence),
  });
  expect(tail.sequence).toBe(20);
  // One of the batches exceeds a slice.
  for (const commands of [1, 2_500, 7]) {
    await trade(leader, commands);
    await expectSame(tail, leader);
  }
  expect(sequences).toEqual(Array.from({ length: 2_508 }, (_, i) => 21 + i));
  expect(ends.at(-1)).toBe(2_528);
  await eventually(() => tail.ageMs < 2_000);
  const { epoch } = tail.head;
  await leader.close();
  leader = await lead(engine);
  await trade(leader, 5);
  await expectSame(tail, leader);
  await eventually(() => tail.head.epoch === epoch + 1 && tail.head.leaseLeftMs > 0);
  await leader.close();
});

test('goes on when its node is paused and when another node becomes the primary', async () => {
  const [a, b, c] = cluster.nodes as [PostgresNode, PostgresNode, PostgresNode];
  const { engine } = await follow();
  await tails.pop()!.close();
  let leader = await lead(engine);
  const tail = await follow();
  for (const node of [b, c]) {
    cluster.signalNode(node, 'SIGSTOP');
    await trade(leader, 30);
    await expectSame(tail, leader);
    cluster.signalNode(node, 'SIGCONT');
  }
  // The node to be promoted must have received everything.
  cluster.signalNode(c, 'SIGSTOP');
  await trade(leader, 1);
  await cluster.stopNode(a);
  cluster.signalNode(c, 'SIGCONT');
  await leader.close().catch(() => {});
  await cluster.promote(b);
  cluster.primary = b;
  await cluster.follow(c, b);
  leader = await lead(engine, true);
  await trade(leader, 30);
  await expectSame(tail, leader);
  // A new leader reads the rest from the primary.
  const last = await follow();
  await last.close();
  await trade(leader, 30);
  const source = await PostgresSource.open(cluster.address, 'primary');
  expect((await last.finish(source)).sequence).toBe(engine.sequence);
  await expectSame(last, leader);
  await source.close();
  await leader.close();
});

test('ends when a watcher throws: a bug is no trouble of the journal', async () => {
  const leader = await lead((await follow()).engine);
  await tails.pop()!.close();
  const fatal: Error[] = [];
  let calls = 0;
  const tail = await follow({
    batchApplied: () => {
      calls++;
      throw new TypeError('a release that does not work');
    },
    onFatal: (error) => fatal.push(error),
  });
  await trade(leader, 3);
  await eventually(() => fatal.length > 0);
  await trade(leader, 3);
  // Nothing is retried: this returns when the tail has stopped.
  await tail.close();
  expect(fatal).toEqual([new TypeError('a release that does not work')]);
  expect([calls, tail.trouble]).toEqual([1, null]);
  expect(tail.sequence).toBeLessThan(leader.engine.sequence);
  await leader.close();
});

/** Removes the last batch, as if a node without it had been promoted. */
async function loseLastBatch(): Promise<void> {
  await cluster.query(
    cluster.primary,
    `DELETE FROM batch WHERE last_sequence = (SELECT last_sequence FROM writer);
     UPDATE writer SET last_sequence = b.last_sequence, hash = b.hash FROM
       (SELECT last_sequence, hash FROM batch ORDER BY first_sequence DESC LIMIT 1) AS b`,
  );
}

test('ends when the cluster has lost what it has', async () => {
  let fatal: Error | null = null;
  const tail = await follow({ onFatal: (error) => (fatal = error) });
  const { sequence } = tail;
  await loseLastBatch();
  await eventually(() => tail.trouble?.includes(`before ${sequence}`) === true);
  const other = await open();
  tails.push(other);
  expect(other.sequence).toBeLessThan(sequence);
  const leader = await lead(other.engine);
  await trade(leader, 40);
  await eventually(() => fatal !== null);
  expect(fatal!.message).toContain(`the cluster has a different batch at sequence ${sequence}`);
  await leader.close();
});

test('ends when other commands lie over its end before it looks again', async () => {
  const first = await lead((await follow()).engine);
  await tails.pop()!.close();
  await trade(first, 3);
  await first.close();
  let fatal: Error | null = null;
  let looks = 0;
  const onFatal = (error: Error) => {
    fatal = error;
  };
  const tail = await follow({ seen: () => looks++, onFatal }, 5_000);
  await eventually(() => looks > 0);
  await loseLastBatch();
  const other = await open();
  tails.push(other);
  const leader = await lead(other.engine);
  await trade(leader, 40);
  await eventually(() => fatal !== null);
  expect(fatal!.message).toContain(
    `the cluster has a different batch at sequence ${tail.sequence}`,
  );
  await leader.close();
});
