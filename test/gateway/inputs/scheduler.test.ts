/**
 * The scheduler on a real engine, sequencer and journal: never early, never idle while work is
 * pending, and never starving other commands.
 */
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { Engine } from '../../../engine/engine.js';
import { MarketStatus, Outcome, TimeInForce } from '../../../engine/interface/domain.js';
import type { FeedClock } from '../../../gateway/inputs/clock.js';
import { Scheduler } from '../../../gateway/inputs/scheduler.js';
import { SubmitRefused } from '../../../persistence/sequencer.js';
import { ManualClock } from '../../support/clock.js';
import { buy, registration, WINDOW_START_MS } from '../../support/engine-support.js';
import { eventually } from '../../support/eventually.js';
import { Exchange } from '../../support/house-support.js';
import { Folders } from '../../support/journal-fixture.js';

const folders = new Folders();
const open: Exchange[] = [];

afterEach(async () => {
  vi.restoreAllMocks();
  for (const exchange of open.splice(0)) await exchange.close();
  folders.removeAll();
});

async function openExchange(clock: ManualClock | FeedClock): Promise<Exchange> {
  const exchange = await Exchange.open(folders.make(), clock);
  open.push(exchange);
  return exchange;
}

/** One active BTC market; the clock is at its start. */
async function withMarket(): Promise<{ exchange: Exchange; clock: ManualClock; marketId: number }> {
  const clock = new ManualClock(WINDOW_START_MS, 1);
  const exchange = await openExchange(clock);
  exchange.do({ kind: 'listAsset', symbol: 'BTC' });
  exchange.price(0, 100_000);
  return { exchange, clock, marketId: exchange.engine.activeMarket(0) };
}

/**
 * Starts another scheduler. Resolves when it has sent its command, which follows those of all
 * schedulers started before.
 */
function schedulerDueAt(clock: ManualClock, dueAtMs: number): Promise<void> {
  return new Promise((resolve) => {
    let nextDueMs = dueAtMs;
    const engine = { nowMs: 0, nextDueMs: () => nextDueMs } as unknown as Engine;
    const submit = () => {
      nextDueMs = Number.POSITIVE_INFINITY;
      resolve();
      return engine.result;
    };
    new Scheduler({ engine, submit }, clock).start();
  });
}

const advances = (exchange: Exchange) =>
  exchange.sent.filter((sent) => sent.kind === 'advanceTime');

describe('deadlines', () => {
  test('each is met at its time, and not a millisecond earlier', async () => {
    const { exchange, clock, marketId } = await withMarket();
    const { engine, scheduler } = exchange;
    scheduler.start();
    for (const [deadlineMs, status] of [
      [900_000, MarketStatus.ENDED],
      [902_000, MarketStatus.RESOLVED],
    ] as const) {
      if (deadlineMs === 900_000) {
        clock.set(WINDOW_START_MS + 890_000);
        exchange.price(0, 100_001);
      }
      const sentBefore = exchange.sent.length;
      clock.set(WINDOW_START_MS + deadlineMs - 1);
      await clock.seen();
      expect(exchange.sent).toHaveLength(sentBefore);
      clock.set(WINDOW_START_MS + deadlineMs);
      await eventually(() => expect(engine.market(marketId)?.status).toBe(status));
      expect(engine.nowMs).toBe(WINDOW_START_MS + deadlineMs);
    }
    expect(advances(exchange).length).toBeGreaterThanOrEqual(2);
    for (const sent of advances(exchange)) expect(sent.dueMs).toBeLessThanOrEqual(sent.atMs);
  });

  test('an earlier deadline set by a command is met', async () => {
    const clock = new ManualClock(WINDOW_START_MS, 1);
    const exchange = await openExchange(clock);
    exchange.scheduler.start();
    const later = schedulerDueAt(clock, WINDOW_START_MS + 1);
    clock.set(WINDOW_START_MS + 1);
    await later;
    expect(exchange.sent).toHaveLength(0);
    exchange.do({ kind: 'listAsset', symbol: 'BTC' });
    clock.set(WINDOW_START_MS + 900_000);
    await eventually(() => expect(advances(exchange)).toHaveLength(1));
  });
});

describe('work', () => {
  test('continues in slices, with other commands in between', async () => {
    const { exchange, clock, marketId } = await withMarket();
    const { engine } = exchange;
    for (let user = 1; user <= 6; user++) {
      exchange.do(registration(`user${user}`, 10_000));
      for (let i = 0; i < 1_000; i++) {
        const size = { priceTicks: 400, sizeLots: 2_500 };
        const order = { userId: user, marketId, outcome: Outcome.UP, ...size };
        exchange.do(buy({ ...order, timeInForce: TimeInForce.GTC }));
      }
    }
    const setUp = exchange.sent.length;
    exchange.scheduler.start();
    clock.set(WINDOW_START_MS + 900_000);
    let busy = true;
    const client = (): void => {
      if (!busy) return;
      exchange.submit({ kind: 'cancelAll', userId: 1, idempotencyKey: null, marketId: 1 });
      setTimeout(client, 0);
    };
    client();
    await eventually(() => expect(engine.nextDueMs()).toBeGreaterThan(engine.nowMs));
    busy = false;
    const kinds = exchange.sent.slice(setUp).map((sent) => sent.kind);
    const firstAdvance = kinds.indexOf('advanceTime');
    expect(firstAdvance).toBeGreaterThan(-1);
    expect(kinds.slice(0, firstAdvance)).toContain('cancelAll');
    expect(engine.orders(1)).toHaveLength(0);
    expect(engine.orders(6)).toHaveLength(0);
    expect(engine.account(6)?.heldMicros).toBe(0);
    engine.checkInvariants();
  });
});

describe('restraint', () => {
  test('a submit that moves no deadline sets no timer', async () => {
    const { exchange } = await withMarket();
    exchange.scheduler.start();
    const timers = vi.spyOn(globalThis, 'setTimeout');
    const nothing = { kind: 'cancelAll', userId: 1, idempotencyKey: null, marketId: 1 } as const;
    for (let i = 0; i < 1_000; i++) exchange.submit(nothing);
    expect(timers).not.toHaveBeenCalled();
  });

  test('sends nothing after stop', async () => {
    const { exchange, clock } = await withMarket();
    exchange.scheduler.start();
    clock.set(WINDOW_START_MS + 890_000);
    exchange.scheduler.stop();
    const sentBefore = exchange.sent.length;
    const later = schedulerDueAt(clock, WINDOW_START_MS + 2_000_000);
    clock.set(WINDOW_START_MS + 2_000_000);
    exchange.scheduler.afterSubmit();
    await later;
    expect(exchange.sent).toHaveLength(sentBefore);
  });

  test('retries when the sequencer refuses a command', async () => {
    const { exchange, clock } = await withMarket();
    let refusals = 0;
    const reluctant = new Scheduler(
      {
        engine: exchange.engine,
        submit: (command) => {
          if (refusals++ < 3) throw new SubmitRefused('too many commands wait for the disk');
          return exchange.submit(command);
        },
      },
      clock,
    );
    reluctant.start();
    clock.set(WINDOW_START_MS + 900_000);
    await eventually(() => expect(advances(exchange)).toHaveLength(1));
    expect(refusals).toBeGreaterThan(3);
    reluctant.stop();
  });
});
