/**
 * Every case that a run of the differential test must cover: the results of each command, and the
 * events. A run must cover exactly these, so that a lost case and an unlisted one both fail.
 *
 * Not covered, because a test cannot reach them in a minute: `limit_reached` for 4,000,000 users
 * (a registration reaches the maximum total money first), 4,000,000 resting orders, 8,000,000
 * positions, 5,000,000 vault deposits and 10,000,000 transfers; and forgetting the oldest of
 * 100,001 closed vault deposits (vault.test.ts does). The limits of idempotency keys are covered
 * with small numbers; test/trials/maxima reaches the stated ones.
 */
import type { CodeName } from '../../../engine/interface/codes.js';
import type { BatchOperation, CommandName } from '../../../engine/interface/commands.js';
import { CancelReason } from '../../../engine/interface/domain.js';
import { EVENT_NAMES, type EventName } from '../../../engine/interface/events.js';

/** A remembered result counts as `replayed`, whatever its code. */
type CaseName = CodeName | 'replayed';

/** The results that every command of a user can have. */
const USERS: CaseName[] = [
  'ok',
  'replayed',
  'idempotency_key_reused',
  'client_sequence_stale',
  'token_not_found',
  'idempotency_full',
  'invalid_command',
  'user_not_found',
];
const ORDERS: CaseName[] = [
  'ok',
  'client_order_id_reused',
  'invalid_command',
  'market_not_found',
  'user_frozen',
  'deadline_passed',
  'market_not_active',
  'market_paused',
  'post_only_would_trade',
  'price_not_met',
  'insufficient_liquidity',
  'too_small_to_rest',
  'order_group_not_found',
  'order_group_tripped',
];
const SETS: CaseName[] = [
  'ok',
  'invalid_command',
  'market_not_found',
  'user_frozen',
  'market_not_active',
  'market_paused',
];
const TRANSFERS: CaseName[] = [
  'ok',
  'replayed',
  'invalid_command',
  'user_not_found',
  'exchange_account',
  'reference_reused',
];

const ANSWERS: Record<CommandName, CaseName[]> = {
  advanceTime: ['ok'],
  listAsset: ['ok', 'invalid_command', 'limit_reached'],
  listMarkets: ['ok', 'asset_not_found'],
  observePrice: ['ok', 'invalid_command', 'asset_not_found', 'limit_reached', 'price_too_old'],
  observeSourcePrice: [
    'ok',
    'invalid_command',
    'asset_not_found',
    'limit_reached',
    'price_too_old',
  ],
  register: ['ok', 'invalid_command', 'username_taken', 'referral_code_unknown', 'limit_reached'],
  setCredential: ['ok', 'invalid_command', 'user_not_found'],
  deposit: [...TRANSFERS, 'limit_reached'],
  withdraw: [...TRANSFERS, 'user_not_of_partner', 'user_frozen', 'insufficient_balance'],
  buy: [...USERS, ...ORDERS, 'limit_reached', 'insufficient_balance', 'amount_too_small'],
  sell: [...USERS, ...ORDERS, 'limit_reached', 'insufficient_shares'],
  cancel: [...USERS, 'market_not_found', 'order_not_found', 'order_closed'],
  cancelAll: [...USERS, 'market_not_found'],
  cancelEverywhere: USERS,
  cancelDisconnected: ['ok', 'invalid_command', 'user_not_found'],
  amend: [
    ...USERS,
    'market_not_found',
    'market_paused',
    'order_not_found',
    'order_closed',
    'limit_reached',
    'insufficient_balance',
    'insufficient_shares',
    'post_only_would_trade',
    'too_small_to_rest',
  ],
  claim: [...USERS, 'market_not_found', 'market_not_resolved', 'nothing_to_claim'],
  split: [...USERS, ...SETS, 'limit_reached', 'insufficient_balance'],
  merge: [...USERS, ...SETS, 'insufficient_shares'],
  stake: [...USERS, 'user_frozen', 'insufficient_balance', 'limit_reached'],
  unstake: [...USERS, 'deposit_not_found', 'deposit_closed'],
  claimYield: [...USERS, 'deposit_not_found', 'deposit_closed', 'nothing_to_claim'],
  setReferralCode: [...USERS, 'referral_code_taken', 'limit_reached'],
  batch: USERS,
  vouchForSnapshot: ['ok', 'invalid_command'],
  createToken: ['ok', 'invalid_command', 'user_not_found', 'limit_reached'],
  setCancelAfter: USERS,
  setPrivacy: USERS,
  setAutoClaim: USERS,
  startAgain: [...USERS, 'user_frozen', 'too_much_to_start_again', 'limit_reached'],
  createOrderGroup: [...USERS, 'limit_reached'],
  resetOrderGroup: [...USERS, 'order_group_not_found'],
  removeOrderGroup: [...USERS, 'order_group_not_found'],
  createSubAccount: [...USERS, 'user_frozen', 'username_taken', 'limit_reached'],
  transferMoney: [...USERS, 'user_frozen', 'insufficient_balance'],
  setPaused: ['ok', 'invalid_command', 'market_not_found', 'market_not_active', 'asset_not_found'],
  setFrozen: ['ok', 'invalid_command', 'user_not_found'],
  operatorCancel: ['ok', 'invalid_command', 'user_not_found'],
  voidMarket: ['ok', 'invalid_command', 'market_not_found', 'market_not_active'],
  setRules: ['ok', 'invalid_command'],
  resetCredential: ['ok', 'invalid_command', 'user_not_found'],
  setRateTier: ['ok', 'invalid_command', 'user_not_found'],
  recordUpgrade: ['ok', 'invalid_command'],
  revokeToken: ['ok', 'user_not_found', 'token_not_found'],
};

/** For operations in a batch: the user was found before them, and ids have no malformed form. */
const OPERATION_ANSWERS: Record<BatchOperation['kind'], CaseName[]> = {
  buy: [...ORDERS, 'insufficient_balance', 'amount_too_small', 'batch_aborted', 'limit_reached'],
  sell: [...ORDERS, 'insufficient_shares', 'batch_aborted', 'limit_reached'],
  cancel: [
    'ok',
    'invalid_command',
    'market_not_found',
    'order_not_found',
    'order_closed',
    'batch_aborted',
  ],
  cancelAll: ['ok', 'market_not_found', 'batch_aborted'],
  cancelEverywhere: ['ok', 'batch_aborted'],
  amend: [
    'ok',
    'invalid_command',
    'market_not_found',
    'market_paused',
    'order_not_found',
    'order_closed',
    'limit_reached',
    'insufficient_balance',
    'insufficient_shares',
    'post_only_would_trade',
    'too_small_to_rest',
    'batch_aborted',
  ],
  claim: ['ok', 'market_not_found', 'market_not_resolved', 'nothing_to_claim', 'batch_aborted'],
  split: [...SETS, 'limit_reached', 'insufficient_balance', 'batch_aborted'],
  merge: [...SETS, 'insufficient_shares', 'batch_aborted'],
};

/** The variants of events that have any. */
const VARIANTS: { [Name in EventName]?: string[] } = {
  marketResolved: ['UP', 'DOWN', 'VOID'],
  deposited: ['GRANT', 'PARTNER'],
  orderPlaced: ['and resting', 'and ended', 'anew'],
  orderCancelled: Object.keys(CancelReason),
  orderAmended: ['in place', 'and closed', 'and placed anew'],
  trade: [
    ...['BUY UP', 'BUY DOWN', 'SELL UP', 'SELL DOWN'].map((taker) => `TRANSFER by ${taker}`),
    ...['MINT by BUY UP', 'MINT by BUY DOWN', 'MERGE by SELL UP', 'MERGE by SELL DOWN'],
  ],
  claimed: ['on request', 'automatically'],
  pointsCredited: ['FEES', 'REFERRAL'],
};
const EVENTS = EVENT_NAMES.filter((name) => name !== 'none').flatMap(
  (name) => VARIANTS[name]?.map((variant) => `${name} ${variant}`) ?? [name],
);

function named(prefix: string, answers: Record<string, CaseName[]>): string[] {
  return Object.entries(answers).flatMap(([kind, cases]) => [
    ...new Set(cases.map((name) => `${prefix}${kind} ${name}`)),
  ]);
}

export const EXPECTED_CASES: string[] = [
  ...named('', ANSWERS),
  ...named('batch: ', OPERATION_ANSWERS),
  ...EVENTS.map((event) => `event ${event}`),
];
