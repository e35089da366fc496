/** An engine with one open market and funded users, and orders for benchmarks and tests. */
import { Engine } from '../../../engine/engine.js';
import { CODES } from '../../../engine/interface/codes.js';
import type { Buy, Command, CommandOf, Sell } from '../../../engine/interface/commands.js';
import { Outcome, TimeInForce } from '../../../engine/interface/domain.js';
import { MAX_TIME_MS, MICROS_PER_DOLLAR, UNSIZED_LOTS } from '../../../engine/interface/limits.js';
import { ResultHead } from '../../../engine/interface/results.js';
import { FIRST_RULES } from '../../../engine/interface/rule-sets.js';

/** The start of a quarter hour. */
export const WINDOW_START_MS = 1_763_700_300_000;
export const ASSET_PRICE_MICROS = 90_000 * MICROS_PER_DOLLAR;

/** Rule set 1 without a minimum size of resting orders, for tests that do not depend on size. */
export const ANY_SIZE_RESTS: CommandOf<'setRules'> = {
  kind: 'setRules',
  ...FIRST_RULES,
  ruleSet: 2,
  minRestingMicros: 0,
  operator: 'op',
  reason: 'a test',
};

export interface OpenMarket {
  engine: Engine;
  marketId: number;
}

export function openMarket(users: number, fundsMicros: number): OpenMarket {
  const engine = new Engine();
  for (const command of openingOf(users, fundsMicros)) mustApply(engine, command, WINDOW_START_MS);
  return { engine, marketId: engine.activeMarket(0) };
}

export function* openingOf(users: number, fundsMicros: number): Generator<Command> {
  yield ANY_SIZE_RESTS;
  yield { kind: 'listAsset', symbol: 'BTC' };
  yield observedPrice(WINDOW_START_MS);
  for (let user = 1; user <= users; user++) yield registration(user, fundsMicros);
}

/** The engine's code for user 1 (RULES.md, Accounts), who refers every second user. */
const FIRST_CODE = 'Q000001';

export function registration(user: number, grantMicros: number): CommandOf<'register'> {
  const referralCode = user > 1 && user % 2 === 0 ? FIRST_CODE : '';
  return {
    kind: 'register',
    username: `trader-${user}`,
    credential: 'bench',
    referralCode,
    grantMicros,
    partner: null,
  };
}

export function mustApply(engine: Engine, command: Command, atMs: number): void {
  engine.apply(command, atMs);
  const code = CODES[engine.result.values[ResultHead.code]!];
  if (code !== 'ok') throw new Error(`${command.kind} is refused: ${code}`);
}

export function observedPrice(observedAtMs: number): Command {
  return { kind: 'observePrice', asset: 0, priceMicros: ASSET_PRICE_MICROS, observedAtMs };
}

/** An IOC buy at any price, unless the fields say otherwise. */
export function buyOrder(fields: Partial<Buy> & Pick<Buy, 'userId' | 'marketId'>): Buy {
  return {
    kind: 'buy',
    idempotencyKey: null,
    outcome: Outcome.UP,
    budgetMicros: (fields.sizeLots ?? 0) * (fields.priceTicks ?? 999),
    sizeLots: UNSIZED_LOTS,
    priceTicks: 999,
    timeInForce: TimeInForce.IOC,
    postOnly: false,
    validUntilMs: MAX_TIME_MS,
    ...fields,
  };
}

export function sellOrder(
  fields: Partial<Sell> & Pick<Sell, 'userId' | 'marketId' | 'sizeLots'>,
): Sell {
  return {
    kind: 'sell',
    idempotencyKey: null,
    outcome: Outcome.UP,
    priceTicks: 1,
    timeInForce: TimeInForce.IOC,
    postOnly: false,
    validUntilMs: MAX_TIME_MS,
    ...fields,
  };
}
