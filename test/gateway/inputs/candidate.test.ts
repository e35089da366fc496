/**
 * Decisions to take the lead, on a real cluster: a standby with a wrong clock, or that could not
 * serve, waits and logs the reason, and the epoch does not change.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Candidate } from '../../../gateway/inputs/candidate.js';
import { CandidateClock } from '../../../gateway/inputs/candidate-clock.js';
import { createLog } from '../../../gateway/observe/log.js';
import { PostgresJournal } from '../../../persistence/replication/postgres/postgres-journal.js';
import { PostgresCluster } from '../../support/cluster/postgres.js';
import { eventually } from '../../support/eventually.js';

const HOUR_MS = 3_600_000;
const START_MS = 1_678_406_400_000;

describe('the clock of a candidate', () => {
  /** A machine whose clock is `aheadMs` ahead, and the true time. */
  function machine(aheadMs: number) {
    let passedMs = 3.5;
    let byMs = aheadMs;
    const trueMs = () => START_MS + passedMs;
    const clock = new CandidateClock({ wall: () => trueMs() + byMs, elapsed: () => passedMs });
    return {
      clock,
      trueMs,
      pass: (ms: number) => (passedMs += ms),
      set: (ms: number) => (byMs += ms),
    };
  }

  test.each(['journal', 'lease', 'database'] as const)('is compared with the %s', (told) => {
    for (const [aheadMs, problem] of [
      [0, null],
      [1_900, null],
      [-1_900, null],
      [HOUR_MS, expect.stringContaining('3600.0 s ahead of')],
      [-2_500, expect.stringMatching(/2\.5 s behind .* Correct the clock .*ACCEPT_CLOCK=on/)],
    ] as const) {
      const { clock, trueMs, pass } = machine(aheadMs);
      expect([clock.aheadMs, clock.problem]).toEqual([null, null]);
      for (let i = 0; i < 4; i++) {
        clock[told].told(trueMs());
        pass(1_000);
      }
      expect([clock.aheadMs, clock.problem]).toEqual([aheadMs, problem]);
    }
  });

  test('that is set while nobody leads is seen at once', () => {
    const { clock, trueMs, pass, set } = machine(0);
    for (let i = 0; i < 4; i++) {
      clock.lease.told(trueMs());
      pass(1_000);
    }
    pass(HOUR_MS);
    expect(clock.problem).toBeNull();
    set(HOUR_MS);
    expect(clock.problem).toContain("ahead of the leader's last lease");
  });

  test('is not compared with what is read late, and does not blame itself for a slow answer', () => {
    const { clock, trueMs, pass } = machine(0);
    // Commands read from an hour's backlog.
    clock.journal.told(trueMs() - HOUR_MS);
    clock.journal.told(trueMs() - HOUR_MS + 1);
    expect(clock.aheadMs).toBeNull();
    for (let i = 0; i < 200; i++) {
      clock.journal.told(trueMs());
      pass(1_000);
    }
    // The last commit before the leader died took long.
    const sentMs = trueMs();
    pass(70_000);
    clock.journal.told(sentMs);
    expect(clock.aheadMs).toBe(0);
  });
});

describe('on a cluster', () => {
  let cluster: PostgresCluster;
  beforeAll(async () => {
    cluster = await PostgresCluster.start();
  }, 120_000);
  afterAll(() => cluster?.stop());
  beforeEach(() => cluster.dropJournal());

  /** Waits for the lead, and collects its log. */
  function standBy(id: string, wall: () => number, mustServe = () => Promise.resolve()) {
    const lines: string[] = [];
    const log = createLog('info', { write: (line) => lines.push(line) });
    const clock = new CandidateClock({ wall });
    const stop = new AbortController();
    let journal: PostgresJournal | null = null;
    const waiting = PostgresJournal.takeOver({
      address: cluster.address,
      isUnreplicated: false,
      standby: { id, address: `${id}:3000`, sequence: () => 0 },
      candidate: new Candidate({ clock, mustServe, log }),
      signal: stop.signal,
    }).then(
      (leads) => (journal = leads),
      () => null,
    );
    return {
      clock,
      leads: () => journal,
      said: () => lines.join(''),
      end: async () => {
        stop.abort();
        await (await waiting)?.close();
      },
    };
  }

  const waitingStandbys = () =>
    cluster.query(cluster.primary, 'SELECT id FROM standby ORDER BY id');

  const lead = () => PostgresJournal.takeOver({ address: cluster.address, isUnreplicated: false });

  test('a standby whose clock is an hour ahead does not take the lead, says so, and another leads', async () => {
    const old = await lead();
    const wrong = standBy('wrong', () => Date.now() + HOUR_MS);
    await eventually(() => wrong.said().includes('DOES NOT TAKE THE LEAD'));
    expect(wrong.said()).toContain('s ahead of the clock of the database');
    expect(wrong.clock.aheadMs).toBeGreaterThan(HOUR_MS - 2_000);
    // A planned takeover may not choose this standby.
    expect(await waitingStandbys()).toEqual([]);
    await old.close();
    const right = standBy('right', Date.now);
    await eventually(() => right.leads() !== null);
    expect([wrong.leads(), right.leads()?.epoch]).toEqual([null, old.epoch + 1]);
    await wrong.end();
    await right.end();
  });

  test('one that could not serve leads when it can', async () => {
    const old = await lead();
    let problem: string | null = 'REPLICAS_PORT: cannot listen';
    const standby = standBy('b', Date.now, async () => {
      if (problem !== null) throw new Error(problem);
    });
    await eventually(() => standby.said().includes('REPLICAS_PORT: cannot listen'));
    expect(await waitingStandbys()).toEqual([]);
    await old.close();
    problem = null;
    await eventually(() => standby.leads() !== null);
    expect(standby.leads()?.epoch).toBe(old.epoch + 1);
    expect(standby.said()).toContain('can take the lead again');
    await standby.end();
  });
});
