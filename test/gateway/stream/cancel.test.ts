/** Cancel on disconnect when the sequencer refuses commands. */
import { afterEach, expect, test } from 'vitest';
import type { Command } from '../../../engine/interface/commands.js';
import { TimeInForce } from '../../../engine/interface/domain.js';
import { CancelOnDisconnect } from '../../../gateway/stream/cancel-on-disconnect.js';
import { type ReleaseTarget, SubmitRefused } from '../../../persistence/sequencer.js';
import { at, buy, openMarket, run } from '../../support/engine-support.js';
import { eventually } from '../../support/eventually.js';
import { silentLog } from '../../support/house-support.js';

let cancels: CancelOnDisconnect;
afterEach(() => cancels.stop());

/** Nothing is written here, so everything counts as durable immediately. */
const releaseAt = (_sequence: number, target: ReleaseTarget) => target.release();

/** Three users with two resting orders each. The sequencer refuses `refusals` commands. */
function setUp(refusals: number) {
  const { engine, marketId } = openMarket(3);
  for (const userId of [1, 2, 3, 1, 2, 3]) {
    run(
      engine,
      buy({ userId, marketId, sizeLots: 1_000, priceTicks: 400, timeInForce: TimeInForce.GTC }),
    );
  }
  const seen = { refused: 0, failures: [] as unknown[], isSynchronous: false };
  const submit = (command: Command) => {
    if (seen.isSynchronous) throw new Error('submitted from within the call');
    if (seen.refused < refusals) {
      seen.refused++;
      throw new SubmitRefused('too many commands wait for the disk');
    }
    engine.apply(command, at(0));
    return engine.result;
  };
  cancels = new CancelOnDisconnect({ engine, submit, releaseAt }, silentLog, (error) =>
    seen.failures.push(error),
  );
  const add = (userId: number) => {
    seen.isSynchronous = true;
    cancels.add(userId);
    seen.isSynchronous = false;
  };
  return { engine, seen, add };
}

test('retries for each user until the sequencer accepts the command', async () => {
  const { engine, seen, add } = setUp(5);
  add(1);
  add(3);
  await cancels.finish();
  expect(seen).toMatchObject({ refused: 5, failures: [] });
  expect([1, 2, 3].map((userId) => engine.orders(userId).length)).toEqual([0, 2, 0]);
  engine.checkInvariants();
});

test('keeps an order placed after the connection ended, and cancels the earlier one', async () => {
  const { engine, seen, add } = setUp(3);
  const marketId = engine.activeMarket(0);
  const rests = (userId: number) =>
    run(
      engine,
      buy({ userId, marketId, sizeLots: 500, priceTicks: 300, timeInForce: TimeInForce.GTC }),
    );
  add(1);
  add(2);
  rests(1);
  const young = engine.orders(1).at(-1)!.orderId;
  await cancels.finish();
  expect(engine.orders(1).map(({ orderId }) => orderId)).toEqual([young]);
  expect(engine.orders(2)).toEqual([]);
  // Another connection of the user ends, so that order is cancelled as well.
  add(1);
  await cancels.finish();
  expect(engine.orders(1)).toEqual([]);
  expect(seen.failures).toEqual([]);
  engine.checkInvariants();
});

test('does not retry after stop; an error other than a refusal ends the process', async () => {
  const { seen, add } = setUp(Number.POSITIVE_INFINITY);
  add(1);
  await eventually(() => seen.refused > 2);
  cancels.stop();
  const { refused } = seen;
  const later = setUp(Number.POSITIVE_INFINITY);
  later.add(1);
  await eventually(() => later.seen.refused > 2);
  cancels.stop();
  expect(seen.refused).toBe(refused);

  const failures: unknown[] = [];
  const { engine } = setUp(0);
  const broken = () => {
    throw new Error('broken');
  };
  cancels = new CancelOnDisconnect({ engine, submit: broken, releaseAt }, silentLog, (error) =>
    failures.push(error),
  );
  cancels.add(1);
  await eventually(() => failures.length === 1);
});
