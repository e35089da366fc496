/** Valid commands that tests spoil or number. */
import type { Command } from '../../../../engine/interface/commands.js';
import { SelfTrade, TimeInForce, TokenScope } from '../../../../engine/interface/domain.js';
import { FIRST_RULES } from '../../../../engine/interface/rule-sets.js';
import { batchOf, bid, MARKET, own, registration, SIGNED, START_MS, sale, UP } from './script.js';

/** One valid command of each kind that has fields. */
export function wellFormed(): Command[] {
  const user = own(1);
  const amendment = { marketId: MARKET, orderId: 1, sizeLots: 3, priceTicks: 400 };
  const transfer = { userId: 1, amountMicros: 5, partner: 'bank', reference: 'r' };
  return [
    { kind: 'listAsset', symbol: 'ETH' },
    { kind: 'observePrice', asset: 0, priceMicros: 9e10, observedAtMs: START_MS },
    {
      kind: 'observeSourcePrice',
      asset: 0,
      priceMicros: 9e10,
      observedAtMs: START_MS,
      source: 'kraken',
    },
    registration('newcomer', 5),
    { kind: 'setCredential', userId: 1, credential: 'c' },
    { kind: 'deposit', ...transfer },
    { kind: 'withdraw', ...transfer },
    bid(1, UP, 5, TimeInForce.GTC),
    sale(1, UP, 5, TimeInForce.GTC),
    { ...bid(1, UP, 5, TimeInForce.GTC), clientOrderId: 'mine' },
    { ...sale(1, UP, 5, TimeInForce.GTC), clientOrderId: 'mine-2' },
    { kind: 'cancel', ...user, marketId: MARKET, orderId: 0, clientOrderId: 'mine' },
    { kind: 'cancel', ...user, marketId: MARKET, orderId: 1 },
    { kind: 'cancelAll', ...user, marketId: MARKET },
    { kind: 'cancelEverywhere', ...user },
    { kind: 'cancelDisconnected', userId: 1, lastOrderId: 1 },
    { kind: 'amend', ...user, ...amendment },
    { ...bid(1, UP, 5, TimeInForce.GTC), expiresAtMs: START_MS + 60_000 },
    { ...bid(1, UP, 5, TimeInForce.GTC), selfTrade: SelfTrade.CANCEL_BOTH },
    { kind: 'claim', ...user, marketId: MARKET },
    { kind: 'stake', ...user, amountMicros: 2_000_000 },
    { kind: 'unstake', ...user, depositId: 1 },
    { kind: 'claimYield', ...user, depositId: 1 },
    { kind: 'setReferralCode', ...user, code: 'code' },
    batchOf(1, [bid(1, UP, 5, TimeInForce.GTC)]),
    { kind: 'vouchForSnapshot', snapshotSequence: 1, snapshotHash: 'a1'.repeat(32) },
    {
      kind: 'createToken',
      userId: 1,
      scope: TokenScope.TRADE,
      expiresAtMs: START_MS + 5,
      name: 'bot',
      allowedAddresses: '',
    },
    { kind: 'revokeToken', userId: 1, tokenId: 1 },
    { kind: 'setCancelAfter', ...user, timeoutMs: 1_000 },
    { kind: 'setPrivacy', ...user, privacy: 2 },
    { kind: 'setAutoClaim', ...user, enabled: true },
    { kind: 'startAgain', ...user, grantMicros: 5 },
    { kind: 'createSubAccount', ...user, username: 'a-sub' },
    { kind: 'transferMoney', ...user, fromUserId: 1, toUserId: 2, amountMicros: 5 },
    { kind: 'setPaused', marketId: 0, asset: 0, paused: true, ...SIGNED },
    { kind: 'setPaused', marketId: 0, asset: 0, paused: false, ...SIGNED },
    { kind: 'setFrozen', userId: 1, frozen: false, ...SIGNED },
    { kind: 'operatorCancel', userId: 1, ...SIGNED },
    { kind: 'voidMarket', marketId: MARKET, ...SIGNED },
    { kind: 'setRules', ...FIRST_RULES, ...SIGNED },
    { kind: 'setRules', ...FIRST_RULES, ruleSet: 2, ...SIGNED },
    { kind: 'resetCredential', userId: 1, credential: 'code', ...SIGNED },
    { kind: 'setRateTier', userId: 1, rateTier: 5, ...SIGNED },
    { kind: 'recordUpgrade', fromVersion: 0, toVersion: 1, chainHash: 'a1'.repeat(32) },
  ];
}

/** The commands of that list that take a key. */
export function keyedCommands(): Extract<Command, { idempotencyKey: string | null }>[] {
  return wellFormed().filter((command) => 'idempotencyKey' in command);
}
