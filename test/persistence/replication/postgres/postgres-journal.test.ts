/**
 * The journal on a real cluster of three nodes of PostgreSQL: what is committed, who may commit,
 * and what happens when nodes are away.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { JournalBatches } from '../../../../persistence/follower/journal-batches.js';
import type { BatchContent } from '../../../../persistence/journal/format.js';
import type { JournalBatch } from '../../../../persistence/journal/store.js';
import {
  LEASE_MS,
  PostgresJournal,
} from '../../../../persistence/replication/postgres/postgres-journal.js';
import { PostgresSource } from '../../../../persistence/replication/postgres/postgres-source.js';
import { PostgresCluster } from '../../../support/cluster/postgres.js';
import { eventually } from '../../../support/eventually.js';

type Node = PostgresCluster['nodes'][number];
let cluster: PostgresCluster;
/** The primary, and its standbys. */
const nodes = () => cluster.nodes as [Node, Node, Node];
beforeAll(async () => {
  cluster = await PostgresCluster.start();
}, 120_000);
afterAll(() => cluster?.stop());
beforeEach(() => cluster.dropJournal());

const takeOver = (isForced = false, onWaiting = () => {}) =>
  PostgresJournal.takeOver({
    address: cluster.address,
    isUnreplicated: false,
    isForced,
    onWaiting,
  });

/** A batch of `count` commands after the journal's end, with arbitrary bytes as records. */
function batchAfter(journal: PostgresJournal, count = 3): BatchContent {
  const firstSequence = journal.end.sequence + 1;
  const records = Buffer.from(Array.from({ length: 256 }, (_, i) => (i * 7 + firstSequence) % 256));
  const lastSequence = firstSequence + count - 1;
  return { firstSequence, lastSequence, records, digest: 'ab'.repeat(8) };
}

function append(journal: PostgresJournal, batch = batchAfter(journal)): Promise<Error | null> {
  return new Promise((resolve) => journal.append(batch, resolve));
}

function outcomeOf(taking: Promise<PostgresJournal>): Promise<string> {
  return taking.then(
    (journal) => journal.close().then(() => 'it leads'),
    ({ message }: Error) => message,
  );
}

async function readAll(): Promise<JournalBatch[]> {
  const source = await PostgresSource.open(cluster.address, 'primary');
  const batches: JournalBatch[] = [];
  for await (const batch of source.batches()) batches.push(batch);
  await source.close();
  return batches;
}

test('a database without a journal gets none where there must be one', async () => {
  const options = { address: cluster.address, isUnreplicated: false, mustExist: true };
  const required = () => PostgresJournal.takeOver(options);
  await expect(required()).rejects.toThrow(/there is no journal in .*REQUIRE_JOURNAL=off/);
  await (await takeOver()).close();
  await (await required()).close();
});

test('a leader whose clock has passed the end of its lease answers only after the next renewal', async () => {
  let nowMs = 0;
  const journal = await PostgresJournal.takeOver({
    address: cluster.address,
    isUnreplicated: false,
    elapsedMs: () => nowMs,
  });
  expect(journal.isSole()).toBe(true);
  // As after a pause of the process.
  nowMs = LEASE_MS * 10;
  expect(journal.isSole()).toBe(false);
  await new Promise<void>((resolve) => journal.whenSole(() => journal.isSole() && resolve()));
  expect(journal.isSole()).toBe(true);
  nowMs += LEASE_MS;
  expect(journal.isSole()).toBe(false);
  expect(await append(journal)).toBeNull();
  expect(journal.isSole()).toBe(true);
  await journal.close();
});

describe('the older leader', () => {
  test('is fenced: its append inserts nothing, and it ends', async () => {
    const old = await takeOver();
    expect(await append(old)).toBeNull();
    const young = await takeOver(true);
    // The old leader may have noticed earlier, when it renewed its lease.
    const refused = await append(old).catch((error: Error) => error);
    expect(refused?.message).toContain('another exchange has taken over');
    expect(await append(young)).toBeNull();
    await young.close();
    await old.close();
    expect((await readAll()).map(({ firstSequence }) => firstSequence)).toEqual([1, 4]);
  });

  test('notices without an append, when it renews its lease', async () => {
    const old = await takeOver();
    let lost: Error | null = null;
    old.whenLost((error) => (lost = error));
    const young = await takeOver(true);
    await eventually(() => lost !== null);
    await young.close();
    await old.close();
  });

  test('is waited for: another leads when its lease is over, not before', async () => {
    const old = await takeOver();
    let waited = false;
    const options = { address: cluster.address, isUnreplicated: false };
    const young = PostgresJournal.takeOver({ ...options, onWaiting: () => (waited = true) });
    await eventually(() => waited);
    expect(await append(old)).toBeNull();
    await old.close();
    await (await young).close();
  });
});

test('a process that has just started leaves the lead to a warm standby', async () => {
  const old = await takeOver();
  const options = { address: cluster.address, isUnreplicated: false };
  const waiting: number[] = [];
  const cold = PostgresJournal.takeOver({
    ...options,
    onWaiting: ({ epoch }) => waiting.push(epoch),
  });
  await eventually(() => waiting.length === 1);
  const standby = { id: 'warm', address: '10.0.0.2:3000', sequence: () => 0 };
  let isRegistered = false;
  const onWaiting = () => {
    isRegistered = true;
  };
  const warm = PostgresJournal.takeOver({ ...options, standby, onWaiting });
  await eventually(() => isRegistered);
  await old.close();
  const first = await Promise.race([cold.then(() => 'cold'), warm.then(() => 'warm')]);
  expect(first).toBe('warm');
  const leads = await warm;
  leads.serves('http://10.0.0.2:3000', '');
  // The loser learns who leads.
  await eventually(() => waiting.at(-1) === leads.epoch);
  await leads.close();
  await (await cold).close();
});

test('with one standby away commits go on; with both they wait, and nothing is visible', async () => {
  const [, b, c] = nodes();
  const journal = await takeOver();
  await cluster.stopNode(b);
  expect(await append(journal)).toBeNull();
  await cluster.stopNode(c);
  let answered: Error | null | undefined;
  const waiting = append(journal).then((error) => (answered = error));
  const source = await PostgresSource.open(cluster.address, 'primary');
  await delay(300);
  expect(answered).toBeUndefined();
  expect((await source.end()).sequence).toBe(3);
  await cluster.startNode(b);
  await waiting;
  expect(answered).toBeNull();
  expect((await source.end()).sequence).toBe(6);
  await source.close();
  await cluster.startNode(c);
  await journal.close();
});

/**
 * Cancels waits for standbys until `waiting` has ended, since the first wait may belong to another
 * session.
 */
async function cutShort(node: Node, waiting: Promise<unknown>): Promise<void> {
  const cancel = `SELECT pg_cancel_backend(pid) AS done FROM pg_stat_activity WHERE wait_event = 'SyncRep'`;
  let hasEnded = false;
  void waiting.then(() => (hasEnded = true));
  await eventually(async () => {
    await cluster.query(node, cancel);
    return hasEnded;
  });
}

test('a wait that is cut short is no commit', async () => {
  const [a, b, c] = nodes();
  const journal = await takeOver();
  for (const node of [b, c]) await cluster.stopNode(node);
  const waiting = append(journal);
  await cutShort(a, waiting);
  expect((await waiting)?.message).toMatch(/standbys|unknown/);
  for (const node of [b, c]) await cluster.startNode(node);
  await journal.close();
});

test('a takeover whose wait is cut short does not lead', async () => {
  const [a, ...standbys] = nodes();
  await (await takeOver()).close();
  // PostgreSQL considers paused nodes connected for a minute.
  for (const node of standbys) cluster.signalNode(node, 'SIGSTOP');
  const outcome = outcomeOf(takeOver());
  await cutShort(a, outcome);
  expect(await outcome).toMatch('stopped waiting for the standbys');
  for (const node of standbys) cluster.signalNode(node, 'SIGCONT');
});

describe('standbys that want to lead while commits wait for copies', () => {
  /** Retries like a standby. */
  async function standBy(id: string, signal: AbortSignal): Promise<PostgresJournal | null> {
    const standby = { id, address: 'here', sequence: () => 0 };
    const options = { address: cluster.address, isUnreplicated: false, standby, signal };
    while (!signal.aborted) {
      const journal = await PostgresJournal.takeOver(options).catch(() => null);
      if (journal !== null) return journal;
      await delay(200);
    }
    return null;
  }
  const backends = async (where: string) => {
    const sql = `SELECT 1 FROM pg_stat_activity WHERE application_name = 'quarter-hour-exchange' AND ${where}`;
    return (await cluster.query(cluster.primary, sql)).length;
  };
  const ids = ['one', 'two', 'three'];

  test('ask for nothing that would wait, and the leader stays when a copy is back', async () => {
    const journal = await takeOver();
    const lost: Error[] = [];
    journal.whenLost((error) => lost.push(error));
    await eventually(() => journal.copies?.there.length === 2);
    expect(journal.copies).toEqual({ needed: 1, there: ['b', 'c'], missing: [] });
    const { standbys } = cluster;
    for (const node of standbys) await cluster.stopNode(node);
    await eventually(() => journal.copies?.missing.length === 2);
    const answer = append(journal);
    const stop = new AbortController();
    const outcomes = ids.map((id) => standBy(id, stop.signal));
    const waits = new Set<number>();
    let most = 0;
    // The lease ends during these reads.
    for (const endMs = performance.now() + LEASE_MS + 4_000; performance.now() < endMs; ) {
      await delay(250);
      waits.add(await backends(`wait_event = 'SyncRep' OR wait_event_type = 'Lock'`));
      // The leader has two connections, and a third while it asks the nodes who leads.
      most = Math.max(most, await backends('true'));
    }
    for (const node of standbys) await cluster.startNode(node);
    const answers = [await answer];
    for (let i = 0; i < 20; i++) answers.push(await append(journal).catch((error) => error));
    stop.abort();
    for (const other of await Promise.all(outcomes)) await other?.close();
    await journal.close();
    expect(waits).toEqual(new Set([1]));
    expect(most).toBeLessThanOrEqual(5 + ids.length);
    expect(new Set(answers)).toEqual(new Set([null]));
    expect(lost).toEqual([]);
  });

  test('begin one takeover that waits, all together', async () => {
    const old = await takeOver();
    await old.close();
    const { standbys } = cluster;
    for (const node of standbys) cluster.signalNode(node, 'SIGSTOP');
    const stop = new AbortController();
    const outcomes = ids.map((id) => standBy(id, stop.signal));
    const most = { waiting: 0, all: 0 };
    for (const endMs = performance.now() + 8_000; performance.now() < endMs; ) {
      await delay(250);
      most.waiting = Math.max(most.waiting, await backends(`wait_event = 'SyncRep'`));
      most.all = Math.max(most.all, await backends('true'));
    }
    for (const node of standbys) cluster.signalNode(node, 'SIGCONT');
    const leads = (await Promise.race(outcomes))!;
    const answer = await append(leads);
    stop.abort();
    for (const journal of await Promise.all(outcomes)) await journal?.close();
    expect(answer).toBeNull();
    expect(leads.epoch).toBeLessThanOrEqual(old.epoch + 2);
    expect(most.waiting).toBe(1);
    // The standbys' connections, those that are about to end, and the waiting one.
    expect(most.all).toBeLessThanOrEqual(2 * ids.length + 1);
  });
});

describe('a cluster under which a commit could be lost is refused', () => {
  test.each([
    ['synchronous_commit', 'on', ['off', 'local']],
    ['synchronous_standby_names', 'ANY 1 (b, c)', ['']],
  ])('%s', async (name, good, values) => {
    const [a] = nodes();
    for (const value of values) {
      await cluster.query(a, `ALTER ROLE postgres SET ${name} = '${value}'`).catch(() => {});
      await set(name, value);
      await eventually(async () => {
        expect(await outcomeOf(takeOver())).toContain(`PostgreSQL has ${name} = '${value}'`);
      });
    }
    await cluster.query(a, `ALTER ROLE postgres RESET ${name}`).catch(() => {});
    await set(name, good);
  });
});

async function set(name: string, value: string): Promise<void> {
  const [a] = nodes();
  await cluster.query(a, `ALTER SYSTEM SET ${name} = '${value}'`);
  await cluster.query(a, 'SELECT pg_reload_conf()');
}

describe('settings that no longer hold end a leader', () => {
  const setNames = (names: string) => set('synchronous_standby_names', names);
  afterEach(() => setNames('ANY 1 (b, c)'));

  test('that has nothing to write', async () => {
    const journal = await takeOver();
    let lost: Error | null = null;
    journal.whenLost((error) => (lost = error));
    await setNames('');
    await eventually(() => lost !== null);
    expect(lost!.message).toContain("PostgreSQL has synchronous_standby_names = ''");
    await expect(append(journal)).rejects.toThrow('synchronous_standby_names');
    await journal.close();
  });

  test('that waits for standbys, although PostgreSQL then commits', async () => {
    const [a, ...standbys] = cluster.nodes;
    const journal = await takeOver();
    for (const node of standbys) await cluster.stopNode(node);
    const answer = append(journal);
    await eventually(async () => {
      const waiting = `SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'`;
      return (await cluster.query(a!, waiting)).length > 0;
    });
    // The statement that renews the lease is queued behind the waiting one.
    await delay(600);
    await setNames('');
    expect((await answer)?.message).toContain("PostgreSQL has synchronous_standby_names = ''");
    for (const node of standbys) await cluster.startNode(node);
    await journal.close();
  });
});

test('an exchange that waits for the lease does not wait for a primary that is paused', async () => {
  const journal = await takeOver();
  let isWaiting = false;
  const onWaiting = () => {
    isWaiting = true;
  };
  const outcome = outcomeOf(takeOver(false, onWaiting));
  await eventually(() => isWaiting);
  const [a] = cluster.nodes;
  cluster.signalNode(a!, 'SIGSTOP');
  try {
    expect(await outcome).toContain('timeout');
  } finally {
    cluster.signalNode(a!, 'SIGCONT');
  }
  await journal.close();
});

test('a row that was changed is named', async () => {
  const journal = await takeOver();
  for (let i = 0; i < 4; i++) expect(await append(journal)).toBeNull();
  await journal.close();
  await cluster.query(
    cluster.nodes[0]!,
    `UPDATE batch SET records = set_byte(records, 5, (get_byte(records, 5) + 1) % 256) WHERE first_sequence = 7`,
  );
  await expect(readAll()).rejects.toThrow('the batch at sequence 7 is not what was written');
});

test('single batches are read from standbys: over another connection, and when they are behind', async () => {
  const journal = await takeOver();
  for (let i = 0; i < 4; i++) expect(await append(journal)).toBeNull();
  const written = await readAll();
  const batches = new JournalBatches({ postgres: cluster.address, prefersStandby: true });
  const onStandbys = async (sql: string) => {
    for (const node of cluster.standbys) await cluster.query(node, sql);
  };
  const read = (sequence: number) =>
    new Promise((done) => batches.read(sequence, { done, isGivenUp: () => false }));
  const replyOf = ({ hash, records: _, ...batch }: JournalBatch) => {
    const answer = { ...batch, hash: hash.toString('hex') };
    return { status: 'ok', sequence: batch.lastSequence, atMs: 0, answer };
  };
  expect(await read(12)).toEqual(replyOf(written[3]!));
  await onStandbys(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()",
  );
  expect(await read(1)).toEqual(replyOf(written[0]!));
  await onStandbys('SELECT pg_wal_replay_pause()');
  expect(await append(journal)).toBeNull();
  const found = read(15);
  await delay(50);
  await onStandbys('SELECT pg_wal_replay_resume()');
  expect(await found).toEqual(replyOf((await readAll())[4]!));
  // The wait is limited.
  expect(await read(16)).toMatchObject({ status: 'unavailable' });
  await batches.close('the test has ended');
  await journal.close();
});
