/**
 * The rule of each kind of command except batches, which engine.ts runs.
 *
 * Invariant: each rule, here and in the folders, first checks everything, then changes the state
 * and writes the fields of its result, whose head is at `base`. It returns the code.
 */
import { Code } from '../interface/codes.js';
import { type CommandRecord, readCommand } from '../interface/command-record.js';
import type { CommandName, CommandOf } from '../interface/commands.js';
import { byKind } from '../interface/records.js';
import type { State } from '../state/state.js';
import { setCancelAfter } from './access/cancel-after.js';
import {
  operatorCancel,
  resetCredential,
  setFrozen,
  setPaused,
  setRateTier,
  setRules,
  voidMarket,
} from './access/operators.js';
import { createToken, revokeToken } from './access/tokens.js';
import { checkCollateral } from './invariants.js';
import { claim } from './markets/claim.js';
import { merge, split } from './markets/complete-sets.js';
import { listAsset, listMarkets } from './markets/market-life.js';
import { observePrice, observeSourcePrice } from './markets/observe-price.js';
import { amendOrder } from './orders/amend-order.js';
import { cancel, cancelAll, cancelDisconnected, cancelEverywhere } from './orders/cancel-orders.js';
import { createOrderGroup, removeOrderGroup, resetOrderGroup } from './orders/order-groups.js';
import { placeOrder } from './orders/place-order.js';
import { Taker } from './orders/taker.js';
import { createSubAccount, transferMoney } from './sub-accounts.js';
import { transfer } from './transfer.js';
import {
  register,
  setAutoClaim,
  setCredential,
  setPrivacy,
  setReferralCode,
  startAgain,
} from './users.js';
import { claimYield, stake, unstake } from './vault.js';
import { recordUpgrade, vouchForSnapshot } from './vouch.js';

export type Rule = (state: State, command: CommandRecord, base: number) => number;

const taker = new Taker();

function place(state: State, command: CommandRecord, base: number): number {
  return checked(state, placeOrder(state, taker, command, base));
}

function amend(state: State, command: CommandRecord, base: number): number {
  return checked(state, amendOrder(state, taker, command, base));
}

function checked(state: State, code: number): number {
  if (code === Code.ok) checkCollateral(state, taker.slot);
  return code;
}

const FREQUENT = {
  advanceTime: () => Code.ok,
  observePrice,
  buy: place,
  sell: place,
  amend,
  cancel,
  cancelAll,
  cancelEverywhere,
  claim,
  split,
  merge,
} satisfies Partial<Record<CommandName, Rule>>;

/** These rules get the command as an object. A kind without a rule does not compile. */
type RareKind = Exclude<CommandName, keyof typeof FREQUENT | 'batch'>;
const RARE: { [K in RareKind]: (state: State, command: CommandOf<K>) => number } = {
  listAsset,
  listMarkets,
  observeSourcePrice,
  register,
  setCredential,
  deposit: transfer,
  withdraw: transfer,
  stake,
  unstake,
  claimYield,
  setReferralCode,
  setPrivacy,
  setAutoClaim,
  startAgain,
  createSubAccount,
  transferMoney,
  cancelDisconnected,
  createToken,
  revokeToken,
  setCancelAfter,
  setPaused,
  setFrozen,
  operatorCancel,
  voidMarket,
  setRules,
  resetCredential,
  setRateTier,
  vouchForSnapshot,
  recordUpgrade,
  createOrderGroup,
  resetOrderGroup,
  removeOrderGroup,
};

function ruleOf(kind: CommandName): Rule | undefined {
  if (kind === 'batch') return undefined;
  if (kind in FREQUENT) return FREQUENT[kind as keyof typeof FREQUENT];
  const rule = RARE[kind as RareKind] as (state: State, command: unknown) => number;
  return (state, { records, at }) => rule(state, readCommand(records, at));
}

export const RULES: readonly (Rule | undefined)[] = byKind(ruleOf);
