/**
 * The order of password checks: fair turns by address, limits, and refused requests. The tests
 * check the order of tasks, not their duration.
 */
import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { FairQueue, type FairQueueLimits } from '../../../gateway/access/fair-use/fair-queue.js';
import { makeUpCosts, Passwords } from '../../../gateway/access/passwords.js';
import { elapsedMs } from '../../../gateway/observe/clock.js';
import { eventually } from '../../support/eventually.js';
import { extent } from '../../support/extent.js';
import { PASSWORD, TestServer } from '../../support/server.js';

/** The size of a flood. */
const LOGINS = Math.max(150, extent(500, 150));

const LIMITS: FairQueueLimits = { perLane: 500, perKey: 100, waitMs: 60_000 };

/** Only promises are pending here. */
const decided = () => new Promise((resolve) => setImmediate(resolve));

/** A queue whose tasks end when the test ends them. */
class Line {
  readonly queue: FairQueue;
  /** Names of started and of refused tasks, in order. */
  readonly begun: string[] = [];
  readonly refused: string[] = [];
  private endTask: (() => void) | null = null;

  constructor(limits: Partial<FairQueueLimits> = {}) {
    this.queue = new FairQueue({ ...LIMITS, ...limits }, elapsedMs);
  }

  /** Resolves when the task is done or refused. */
  async ask(
    name: string,
    address: string,
    asker: { isOver: boolean } = { isOver: false },
  ): Promise<void> {
    const asked = {
      address,
      get isOver() {
        return asker.isOver;
      },
    };
    const done = await this.queue.run(asked, () => {
      this.begun.push(name);
      return new Promise<true>((resolve) => {
        this.endTask = () => resolve(true);
      });
    });
    if (done === null) this.refused.push(name);
  }

  /** Ends the current task and starts the next. */
  async step(): Promise<void> {
    await decided();
    this.endTask?.();
    this.endTask = null;
    await decided();
  }

  async steps(count: number): Promise<void> {
    for (let i = 0; i < count; i++) await this.step();
  }

  /** Requests `count` tasks of an address, named after it. */
  flood(address: string, count: number): void {
    for (let i = 0; i < count; i++) void this.ask(`${address}/${i}`, address);
  }

  /** The number of tasks started before this one. */
  placeOf(name: string): number {
    const place = this.begun.indexOf(name);
    if (place < 0) throw new Error(`${name} was not started`);
    return place;
  }
}

describe('turns', () => {
  test('alternate between the addresses, one task each', async () => {
    const line = new Line();
    line.flood('a', 3);
    line.flood('b', 2);
    line.flood('c', 1);
    await line.steps(6);
    expect(line.begun).toEqual(['a/0', 'a/1', 'b/0', 'c/0', 'a/2', 'b/1']);
    await line.step();
    expect(line.queue.waitingCount).toBe(0);
    line.flood('d', 1);
    await decided();
    expect(line.begun.at(-1)).toBe('d/0');
  });

  test('delay a known address by one task when 500 others flood the queue, and an unknown one by one task each', async () => {
    const line = new Line();
    line.queue.known.add('known');
    for (let i = 0; i < 500; i++) line.flood(`stranger-${i}`, 2);
    // The lane is full: every address has one task queued, and the first also a running one.
    expect(line.queue.waitingCount).toBe(500);
    void line.ask('known', 'known');
    const before = line.begun.length;
    await line.steps(2);
    expect(line.placeOf('known') - before).toBeLessThanOrEqual(1);
    // Tasks of known addresses take at most every second turn from unknown ones.
    line.flood('known', 100);
    const from = line.begun.length;
    await line.steps(20);
    const served = line.begun.slice(from);
    expect(served.filter((name) => name.startsWith('known'))).toHaveLength(10);
  });

  test('pass to the next task when one throws', async () => {
    const { queue } = new Line();
    const asker = { address: 'a', isOver: false };
    const failed = queue.run(asker, () => Promise.reject(new Error('it broke')));
    const next = queue.run(asker, () => Promise.resolve(1));
    await expect(failed).rejects.toThrow('it broke');
    expect(await next).toBe(1);
  });
});

describe('limits', () => {
  test('per address: the excess is refused at once, and no other address is', async () => {
    const line = new Line({ perKey: 3 });
    line.flood('a', 6);
    line.flood('b', 3);
    await decided();
    expect(line.refused).toEqual(['a/4', 'a/5']);
    expect(line.queue.waitingCount).toBe(6);
    expect(line.queue.refusedCount).toBe(2);
  });

  test('in total: a new address takes a place from the one with the most tasks, not from one with equally few', async () => {
    const line = new Line({ perLane: 4 });
    line.flood('busy', 1);
    line.flood('a', 3);
    line.flood('b', 1);
    line.flood('c', 1);
    await decided();
    expect(line.refused).toEqual(['a/2']);
    line.flood('d', 1);
    await decided();
    expect(line.refused).toEqual(['a/2', 'a/1']);
    line.flood('e', 1);
    await decided();
    expect(line.refused).toEqual(['a/2', 'a/1', 'e/0']);
  });

  test('ignore clients that have left', async () => {
    const line = new Line({ perKey: 2 });
    line.flood('busy', 1);
    const gone = { isOver: false };
    void line.ask('gone-1', 'a', gone);
    void line.ask('gone-2', 'a', gone);
    gone.isOver = true;
    void line.ask('there', 'a');
    await line.step();
    expect([line.begun, line.refused]).toEqual([
      ['busy/0', 'there'],
      ['gone-1', 'gone-2'],
    ]);
  });

  test('on time: a request that waited too long is refused, even if the current task does not end', async () => {
    const line = new Line({ waitMs: 20 });
    line.flood('a', 3);
    await eventually(() => line.refused.length === 2);
    line.flood('b', 1);
    await eventually(() => line.refused.length === 3);
    expect(line.refused).toEqual(['a/1', 'a/2', 'b/0']);
    await line.step();
    line.flood('c', 1);
    await decided();
    expect(line.begun).toEqual(['a/0', 'c/0']);
  });

  test('at random: each task is started or refused exactly once, and the queue never exceeds its limit', async () => {
    const address = fc.integer({ min: 0, max: 5 }).map((number) => `address-${number}`);
    const step = fc.oneof(
      { weight: 3, arbitrary: fc.record({ kind: fc.constant('ask' as const), address }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('step' as const), address }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('know' as const), address }) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 80 }), async (steps) => {
        const line = new Line({ perLane: 6, perKey: 3 });
        let asked = 0;
        for (const { kind, address } of steps) {
          if (kind === 'ask') void line.ask(`${asked++}`, address);
          else if (kind === 'know') line.queue.known.add(address);
          else await line.step();
          expect(line.queue.waitingCount).toBeLessThanOrEqual(12);
        }
        while (line.queue.waitingCount > 0) await line.step();
        await line.step();
        const all = [...line.begun, ...line.refused].map(Number).sort((a, b) => a - b);
        expect(all).toEqual(Array.from({ length: asked }, (_, i) => i));
        expect(line.queue.refusedCount).toBe(line.refused.length);
      }),
    );
  });

  test('a closed queue refuses waiting and new tasks, and finishes the current one', async () => {
    const line = new Line();
    line.flood('a', 3);
    line.flood('b', 1);
    line.queue.close();
    line.flood('c', 1);
    await decided();
    expect(line.refused).toEqual(['a/1', 'a/2', 'b/0', 'c/0']);
    await line.step();
    expect([line.begun, line.refused.length]).toEqual([['a/0'], 4]);
  });

  test('a task that is given up counts as refused, although it does not end', async () => {
    const line = new Line();
    line.flood('a', 2);
    await decided();
    line.queue.close();
    line.queue.giveUp();
    await decided();
    expect([line.begun, line.refused]).toEqual([['a/0'], ['a/1', 'a/0']]);
  });
});

describe('passwords', () => {
  const asker = { address: 1, isOver: false };

  test('take the same work to check, whatever their cost when they were hashed', () => {
    for (const cost of [10, 13, 15]) {
      const all = [cost, ...makeUpCosts(cost, 15)];
      expect(all.reduce((sum, each) => sum + 2 ** each, 0)).toBe(2 ** 15);
    }
  });

  test('are checked as before after the cost was raised or lowered', async () => {
    const [low, high] = [new Passwords(10, elapsedMs), new Passwords(12, elapsedMs)];
    for (const [made, checks] of [
      [low, high],
      [high, low],
    ] as const) {
      const credential = (await made.hash('right', asker))!;
      expect(await checks.verify('right', credential, asker)).toBe(true);
      expect(await checks.verify('wrong', credential, asker)).toBe(false);
      expect(await checks.verify('right', '', asker)).toBe(false);
    }
  });
});

describe('over HTTP', () => {
  let server: TestServer;
  afterEach(() => server.stop());

  /** About 8 ms per hash, so that a flood arrives before much of it is answered. */
  async function start(): Promise<void> {
    server = await TestServer.start({ trustProxy: true, passwordCostLog2: 12 });
  }

  /**
   * A flood of simultaneous sign-ins with unknown names, each on its own connection, and one client
   * that signs in after the first answer. Returns how many hashes the client waits for.
   */
  async function flood(from: readonly string[], client: string, isKnown: boolean) {
    const post = async (path: string, username: string, address: string) => {
      const options = { headers: { 'x-forwarded-for': address } };
      const body = { username, password: PASSWORD };
      return (await server.api.send('POST', path, body, options)).status;
    };
    expect(await post('/auth/register', 'client', client)).toBe(201);
    if (isKnown) expect(await post('/auth/login', 'client', client)).toBe(200);
    const counts: Record<number, number> = { 401: 0, 503: 0 };
    let firstChecked = () => {};
    const begun = new Promise<void>((resolve) => {
      firstChecked = resolve;
    });
    const all = Promise.all(
      from.map(async (address, i) => {
        const status = await post('/auth/login', `nobody-${i}`, address);
        counts[status] = (counts[status] ?? 0) + 1;
        if (status === 401) firstChecked();
      }),
    );
    await Promise.race([begun, all]);
    const before = counts[401]!;
    const status = await post('/auth/login', 'client', client);
    const meanwhile = counts[401]! - before;
    await all;
    return { status, meanwhile, counts };
  }

  test.each([true, false])(
    `${LOGINS} logins of one address delay another by only a few; known: %s`,
    async (isKnown) => {
      await start();
      const from = Array<string>(LOGINS).fill('198.51.100.1');
      const { status, meanwhile, counts } = await flood(from, '198.51.100.2', isKnown);
      expect(status).toBe(200);
      expect(meanwhile).toBeLessThan(10);
      // All are answered, and one address has at most 100 queued.
      const { 401: checked, 503: refused, ...others } = counts;
      expect(others).toEqual({});
      expect(checked! + refused!).toBe(LOGINS);
      expect(checked).toBeGreaterThan(0);
    },
  );

  test('one IPv6 network counts as one address', async () => {
    await start();
    const from = Array.from({ length: 90 }, (_, i) => `2001:db8::${i.toString(16)}:1`);
    const { status, meanwhile } = await flood(from, '2001:db8:0:1::1', false);
    expect([status, meanwhile < 10]).toEqual([200, true]);
  });

  test('a refusal says that nothing was executed and when to retry', async () => {
    await start();
    const { api } = server;
    const login = () => api.post('/auth/login', { username: 'nobody', password: 'a password' });
    const answers = await Promise.all(Array.from({ length: 120 }, login));
    const refused = answers.filter(({ status }) => status === 503);
    expect(refused.length).toBeGreaterThan(0);
    for (const { json, headers } of refused) {
      expect(json.error).toMatchObject({ code: 'unavailable', details: { executed: false } });
      expect(headers['retry-after']).toBe('1');
    }
    const { text } = await api.get('/metrics');
    expect(text).toContain(`exchange_sign_ins_refused_total ${refused.length}\n`);
    expect(text).toContain('exchange_sign_ins_waiting 0\n');
  });
});
