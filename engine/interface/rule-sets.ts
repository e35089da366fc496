/**
 * The rule sets: the rules that may change while an exchange trades. `setRules` names a set and the
 * values of its parameters, so a replay applies the rules of each command's time. An exchange
 * begins with set 1, whose values are fixed. In set 2 an operator chooses values within bounds; set
 * 3 adds the fee curve and the makers' share.
 *
 * Any other change of a rule gets a new set here, and the rule's code checks the set in force. A
 * set is never changed or removed, because journals name it.
 */
import { isIntegerBetween } from '../storage/arithmetic.js';
import { MAX_OPEN_ORDERS_PER_USER, MAX_ORDER_MICROS, MICROS_PER_DOLLAR } from './limits.js';
import {
  FEE_BASIS_POINTS,
  MAX_FEE_BASIS_POINTS,
  MAX_MAKER_SHARE_PERCENT,
  MAX_MIN_RESTING_MICROS,
  MIN_RESTING_MICROS,
  VAULT_SHARE_PERCENT,
} from './parameters.js';

interface RuleParameters {
  /** The fee on a buy's spending as taker, in basis points (1/10,000). */
  takerFeeBasisPoints: number;
  /** The rate of the fee curve, in basis points: rate × price × (1 − price) on a bought share. */
  curveFeeBasisPoints: number;
  /** The makers' part of the fees of their trades, in percent, when the market resolves. */
  makerSharePercent: number;
  /** The vault's share of a market's fees, in percent, when the market resolves. */
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

const SET_2: Bounds = {
  takerFeeBasisPoints: [0, MAX_FEE_BASIS_POINTS],
  curveFeeBasisPoints: [0, 0],
  makerSharePercent: [0, 0],
  // The referrers get a tenth.
  vaultSharePercent: [0, 90],
  maxOrderMicros: [MICROS_PER_DOLLAR, MAX_ORDER_MICROS],
  maxOpenOrders: [1, MAX_OPEN_ORDERS_PER_USER],
  minRestingMicros: [0, MAX_MIN_RESTING_MICROS],
};

/** Set n is at index n - 1. */
export const RULE_SETS: readonly Bounds[] = [
  {
    takerFeeBasisPoints: [FEE_BASIS_POINTS, FEE_BASIS_POINTS],
    curveFeeBasisPoints: [0, 0],
    makerSharePercent: [0, 0],
    vaultSharePercent: [VAULT_SHARE_PERCENT, VAULT_SHARE_PERCENT],
    maxOrderMicros: [MAX_ORDER_MICROS, MAX_ORDER_MICROS],
    maxOpenOrders: [MAX_OPEN_ORDERS_PER_USER, MAX_OPEN_ORDERS_PER_USER],
    minRestingMicros: [MIN_RESTING_MICROS, MIN_RESTING_MICROS],
  },
  SET_2,
  {
    ...SET_2,
    curveFeeBasisPoints: [0, MAX_FEE_BASIS_POINTS],
    makerSharePercent: [0, MAX_MAKER_SHARE_PERCENT],
  },
];

/** The rules of a new exchange. */
export const FIRST_RULES: Rules = Object.freeze({
  ruleSet: 1,
  takerFeeBasisPoints: FEE_BASIS_POINTS,
  curveFeeBasisPoints: 0,
  makerSharePercent: 0,
  vaultSharePercent: VAULT_SHARE_PERCENT,
  maxOrderMicros: MAX_ORDER_MICROS,
  maxOpenOrders: MAX_OPEN_ORDERS_PER_USER,
  minRestingMicros: MIN_RESTING_MICROS,
});

/** The order of the rules in the journal, the snapshot and the event. */
export const RULE_NAMES = Object.keys(FIRST_RULES) as (keyof Rules)[];

/** The parameters that have only one value in a set. */
export function fixedIn(ruleSet: number): Partial<RuleParameters> {
  const bounds = Object.entries(RULE_SETS[ruleSet - 1]!);
  return Object.fromEntries(
    bounds.filter(([, [least, most]]) => least === most).map(([name, [least]]) => [name, least]),
  );
}

export function areRules(rules: Rules): boolean {
  const bounds = RULE_SETS[rules.ruleSet - 1];
  if (bounds === undefined) return false;
  return (Object.keys(bounds) as (keyof Bounds)[]).every((name) =>
    isIntegerBetween(rules[name], ...bounds[name]),
  );
}
