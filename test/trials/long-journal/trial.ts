/**
 * A journal of gigabytes verifies, and an exchange starts on it: 1,000 orders a second in one
 * asset, each with an idempotency key and a clientOrderId, for as many hours as needed.
 */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Command } from '../../../engine/interface/commands.js';
import {
  marketIdOf,
  type Outcome,
  TimeInForce,
  WINDOW_MS,
} from '../../../engine/interface/domain.js';
import { MICROS_PER_DOLLAR } from '../../../engine/interface/limits.js';
import { listSegments } from '../../../persistence/journal/segments.js';
import { extent } from '../../support/extent.js';
import { ExchangeProcess } from '../../support/processes/exchange-process.js';
import { folderBytes, inFolder } from '../../support/processes/machine.js';
import { programLines } from '../../support/programs.js';
import {
  buyOrder,
  observedPrice,
  registration,
  WINDOW_START_MS,
} from '../../support/workload/open-market.js';
import { Random } from '../../support/workload/random.js';
import { writeFolder } from '../write-folder.js';

const BYTES = extent(4_000) * 1e6;
const START_MS_MAX = 3_600_000;
const USERS = 10_000;
const FUNDS_MICROS = 500_000 * MICROS_PER_DOLLAR;
const ORDERS_A_SECOND = 1_000;
/** The folder's size is checked each time this many orders have been written. */
const LOOK_EVERY = 1_000_000;

function* trading(folder: string): Generator<[Command, number]> {
  const random = new Random('long journal');
  let nowMs = WINDOW_START_MS;
  yield [{ kind: 'listAsset', symbol: 'BTC' }, nowMs];
  yield [observedPrice(nowMs), nowMs];
  for (let user = 1; user <= USERS; user++) yield [registration(user, FUNDS_MICROS), nowMs];
  for (let order = 1; order % LOOK_EVERY > 0 || folderBytes(folder) < BYTES; order++) {
    if (order % ORDERS_A_SECOND === 0) {
      nowMs += 1_000;
      yield [observedPrice(nowMs), nowMs];
    }
    const userId = random.whole(1, USERS);
    const marketId = marketIdOf(0, nowMs - (nowMs % WINDOW_MS));
    // The key has the length of a UUID.
    const idempotencyKey = `0195e7d2-7c31-4b8e-9f00-${100_000_000_000 + order}`;
    const rests = random.chance(0.5);
    if (random.chance(0.2)) yield [{ kind: 'cancelAll', userId, idempotencyKey, marketId }, nowMs];
    const terms = {
      outcome: random.whole(0, 1) as Outcome,
      sizeLots: 1_000 * random.whole(1, 20),
      priceTicks: rests ? random.whole(400, 499) : 999,
      timeInForce: rests ? TimeInForce.GTC : TimeInForce.IOC,
      budgetMicros: MICROS_PER_DOLLAR * (rests ? 100 : 5),
    };
    const names = { userId, marketId, idempotencyKey, clientOrderId: idempotencyKey };
    yield [buyOrder({ ...names, ...terms }), nowMs];
  }
}

test('a long journal verifies, and an exchange starts on it', ({ annotate }) =>
  // The folder of temporary files is not used, because it may be in memory.
  inFolder(process.cwd(), async (folder) => {
    const data = join(folder, 'data');
    const commands = await writeFolder(data, trading(data));
    const segments = listSegments(data).length;
    await annotate(`${folderBytes(data) / 1e9} GB, ${commands} commands in ${segments} segments`);
    const seconds = (fromMs: number) => ((performance.now() - fromMs) / 1_000).toFixed(1);
    const verifiedMs = performance.now();
    expect((await programLines(data, 'verify')).at(-1)).toMatchObject({ good: true, findings: 0 });
    await annotate(`verified in ${seconds(verifiedMs)} s`);
    const startedMs = performance.now();
    const exchange = await ExchangeProcess.start(
      {
        environment: { DATA_FOLDER: data, PORT: '0', ACCEPT_CLOCK: 'on' },
        logFile: join(folder, 'log'),
      },
      START_MS_MAX,
    );
    await annotate(`open after ${seconds(startedMs)} s`);
    await exchange.mustStop();
  }));
