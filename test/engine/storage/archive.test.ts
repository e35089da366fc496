/**
 * The archive holds the whole state: an engine restored from it behaves exactly like the one that
 * wrote it, and writes the same bytes.
 */
import { expect, test } from 'vitest';
import { Engine } from '../../../engine/engine.js';
import { Code } from '../../../engine/interface/codes.js';
import { TimeInForce, TokenScope } from '../../../engine/interface/domain.js';
import { MAX_TIME_MS } from '../../../engine/interface/limits.js';
import { POOL_SIZES } from '../../../engine/state/access/room.js';
import { StateReader } from '../../../engine/storage/archive.js';
import {
  archiveOf,
  buy,
  codeOf,
  openMarket,
  price,
  registration,
  run,
  WINDOW_START_MS,
} from '../../support/engine-support.js';
import { randomDay, USUAL } from '../../support/random-commands.js';

const DAY = { ...USUAL, commands: 6_000 };

test('an engine restored at any point behaves like the one that wrote the archive', () => {
  const engine = new Engine();
  let restored = engine;
  let i = 0;
  for (const { command, atMs } of randomDay('archive', DAY, WINDOW_START_MS)) {
    i++;
    engine.apply(command, atMs);
    if (restored !== engine) restored.apply(command, atMs);
    if (i % 100 === 0) expect(restored.digest()).toBe(engine.digest());
    if (i % 1_000 !== 500) continue;
    const bytes = archiveOf(engine);
    expect(Buffer.compare(archiveOf(restored), bytes)).toBe(0);
    restored = Engine.restore(bytes);
    restored.checkInvariants();
    expect(Buffer.compare(archiveOf(restored), bytes)).toBe(0);
  }
  expect(restored.digest()).toBe(engine.digest());
  expect(engine.marketIds().length).toBeGreaterThan(3);
  expect(engine.vault().yieldPaidMicros).toBeGreaterThan(0);
});

test('refuses an archive that is too short or too long', () => {
  const { engine } = openMarket(3);
  const bytes = archiveOf(engine);
  expect(() => Engine.restore(bytes.subarray(0, bytes.length - 1))).toThrow(/truncated/);
  expect(() => Engine.restore(Buffer.concat([bytes, new Uint8Array(1)]))).toThrow(
    /more than the state/,
  );
});

test('holds texts of any script, free room, and room that is reserved before or after', () => {
  const sizes = { ...POOL_SIZES, clientOrderIds: { size: 2, most: 1, assured: 0 } };
  const engine = new Engine(sizes);
  engine.apply({ kind: 'listAsset', symbol: 'BTC' }, WINDOW_START_MS);
  engine.apply(price(100_000, WINDOW_START_MS), WINDOW_START_MS);
  engine.reserve();
  const marketId = engine.activeMarket(0);
  const resting = { sizeLots: 10_000, priceTicks: 400, timeInForce: TimeInForce.GTC };
  for (const userId of [1, 2]) {
    run(engine, registration(`user-${userId}`, 100));
    const order = buy({ userId, marketId, ...resting, clientOrderId: 'mine' });
    expect(codeOf(run(engine, order))).toBe(Code.ok);
  }
  // This order's client order id was forgotten in favour of the second order's.
  run(engine, { kind: 'cancelAll', userId: 1, marketId, idempotencyKey: null });
  const token = { scope: TokenScope.READ, expiresAtMs: MAX_TIME_MS, allowedAddresses: '' };
  run(engine, { kind: 'createToken', userId: 1, name: '我的鍵', ...token });
  const restored = new Engine(sizes);
  restored.archive(new StateReader(archiveOf(engine)));
  for (let i = 0; i < 2; i++) restored.reserve();
  restored.checkInvariants();
  expect(restored.tokens(1)[0]!.name).toBe('我的鍵');
  expect(restored.orders(2)[0]!.clientOrderId).toBe('mine');
  expect(Buffer.compare(archiveOf(restored), archiveOf(engine))).toBe(0);
});

test('an archive can be read in pieces', () => {
  const { engine } = openMarket(1_000);
  const bytes = archiveOf(engine);
  let at = 0;
  const pieces: number[] = [];
  const read = (target: Uint8Array) => {
    target.set(bytes.subarray(at, at + target.length));
    at += target.length;
    pieces.push(target.length);
  };
  const copy = Engine.restore({ length: bytes.length, read });
  expect(copy.digest()).toBe(engine.digest());
  expect(Buffer.from(archiveOf(copy)).equals(Buffer.from(bytes))).toBe(true);
  expect(pieces.length).toBeGreaterThan(1);
});
