/**
 * The rule sets: the rules that may change while an exchange trades. `setRules` names a set and the
 * values of its parameters, so a replay applies the rules of each command's time. An exchange
 * begins with set 1, whose values are fixed. In set 2 an operator chooses values within bounds.
 *
 * Any other change of a rule gets a new set here, and the rule's code checks the set in force. A
 * set is never changed or removed, because journals name it.
 */
import { MAX_OPEN_ORDERS_PER_USER, MAX_ORDER_MICROS, MICROS_PER_DOLLAR } from './limits.js';
import {
  FEE_BASIS_POINTS,
  MAX_FEE_BASIS_POINTS,
  MAX_MIN_RESTING_MICROS,
  MIN_RESTING_MICROS,
  VAULT_SHARE_PERCENT,
} from './parameters.js';

interface RuleParameters {
  /** The fee on a buy's spending as taker, in basis points (1/10,000). */
  takerFeeBasisPoints: number;
  /** The vault's part of a market's fees, in percent, when the market resolves. */
  vaultSharePercent: number;
  maxOrderMicros: number;
  /** Resting orders of one user; a user with more keeps them. */
  maxOpenOrders: number;
  /** The minimum value of an order that begins to rest, at its own price. */
  minRestingMicros: number;
}

export interface Rules extends RuleParameters {
  ruleSet: number;
}

type Bounds = { readonly [K in keyof RuleParameters]: readonly [least: number, most: number] };

/** By the number of the set, less 1. */
export const RULE_SETS: readonly Bounds[] = [
  {
    takerFeeBasisPoints: [FEE_BASIS_POINTS, FEE_BASIS_POINTS],
    vaultSharePercent: [VAULT_SHARE_PERCENT, VAULT_SHARE_PERCENT],
    maxOrderMicros: [MAX_ORDER_MICROS, MAX_ORDER_MICROS],
    maxOpenOrders: [MAX_OPEN_ORDERS_PER_USER, MAX_OPEN_ORDERS_PER_USER],
    minRestingMicros: [MIN_RESTING_MICROS, MIN_RESTING_MICROS],
  },
  {
    takerFeeBasisPoints: [0, MAX_FEE_BASIS_POINTS],
    // The referrers get a tenth.
    vaultSharePercent: [0, 90],
    maxOrderMicros: [MICROS_PER_DOLLAR, MAX_ORDER_MICROS],
    maxOpenOrders: [1, MAX_OPEN_ORDERS_PER_USER],
    minRestingMicros: [0, MAX_MIN_RESTING_MICROS],
  },
];

/** The rules of a new exchange. */
export const FIRST_RULES: Rules = Object.freeze({
  ruleSet: 1,
  takerFeeBasisPoints: FEE_BASIS_POINTS,
  vaultSharePercent: VAULT_SHARE_PERCENT,
  maxOrderMicros: MAX_ORDER_MICROS,
  maxOpenOrders: MAX_OPEN_ORDERS_PER_USER,
  minRestingMicros: MIN_RESTING_MICROS,
});

export function areRules(rules: Rules): boolean {
  const bounds = RULE_SETS[rules.ruleSet - 1];
  if (bounds === undefined) return false;
  return (
    isWithin(rules.takerFeeBasisPoints, bounds.takerFeeBasisPoints) &&
    isWithin(rules.vaultSharePercent, bounds.vaultSharePercent) &&
    isWithin(rules.maxOrderMicros, bounds.maxOrderMicros) &&
    isWithin(rules.maxOpenOrders, bounds.maxOpenOrders) &&
    isWithin(rules.minRestingMicros, bounds.minRestingMicros)
  );
}

function isWithin(value: number, [least, most]: readonly [number, number]): boolean {
  return Number.isSafeInteger(value) && value >= least && value <= most;
}
