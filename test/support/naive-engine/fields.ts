/**
 * The valid form of every command's fields, one line each; anything else is `invalid_command`. Ids
 * are not checked here: an unknown id is not found.
 */
import type {
  BatchOperation,
  Command,
  CommandName,
  CommandOf,
} from '../../../engine/interface/commands.js';
import {
  MAX_ALLOWED_ADDRESSES_LENGTH,
  MAX_ASSET_PRICE_MICROS,
  MAX_BATCH_OPERATIONS,
  MAX_CREDENTIAL_LENGTH,
  MAX_ORDER_LOTS,
  MAX_ORDER_MICROS,
  MAX_REFERENCE_LENGTH,
  MAX_TIME_MS,
  MAX_TOKEN_NAME_LENGTH,
  MAX_TRANSFER_MICROS,
  MIN_STAKE_MICROS,
  UNSIZED_LOTS,
} from '../../../engine/interface/limits.js';

type Check = (value: unknown) => boolean;

const whole =
  (min: number, max: number): Check =>
  (value) =>
    Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max;
const form =
  (pattern: RegExp): Check =>
  (value) =>
    typeof value === 'string' && pattern.test(value);
const text =
  (min: number, max: number): Check =>
  (value) =>
    typeof value === 'string' && value.length >= min && value.length <= max;

const isFlag: Check = (value) => typeof value === 'boolean';
export const isKey: Check = (value) => value === null || form(/^[ -~]{1,64}$/)(value);
const isTransfer = {
  amountMicros: whole(1, MAX_TRANSFER_MICROS),
  partner: text(1, MAX_REFERENCE_LENGTH),
  reference: text(1, MAX_REFERENCE_LENGTH),
};
/** A name, which a command may omit. */
const isName: Check = (value) => value === undefined || form(/^[A-Za-z0-9_:.-]{1,64}$/)(value);
const isSigned = { operator: text(1, MAX_REFERENCE_LENGTH), reason: text(1, 200) };
const isUsers = { idempotencyKey: isKey };
const isOrder = {
  ...isUsers,
  outcome: whole(0, 1),
  sizeLots: whole(1, MAX_ORDER_LOTS),
  priceTicks: whole(1, 999),
  timeInForce: whole(0, 2),
  postOnly: isFlag,
  validUntilMs: whole(0, MAX_TIME_MS),
  clientOrderId: isName,
  expiresAtMs: (value: unknown) => value === undefined || whole(0, MAX_TIME_MS)(value),
  groupId: (value: unknown) => value === undefined || whole(1, Number.MAX_SAFE_INTEGER)(value),
  selfTrade: (value: unknown) => value === undefined || whole(0, 2)(value),
};
const CODE = /^[A-Za-z0-9_-]{3,20}$/;

const FORMS: Record<CommandName, Record<string, Check>> = {
  advanceTime: {},
  listAsset: { symbol: form(/^[A-Z0-9]{2,10}$/) },
  listMarkets: { ahead: isFlag },
  observePrice: {
    priceMicros: whole(1, MAX_ASSET_PRICE_MICROS),
    observedAtMs: whole(0, MAX_TIME_MS),
  },
  observeSourcePrice: {
    priceMicros: whole(1, MAX_ASSET_PRICE_MICROS),
    observedAtMs: whole(0, MAX_TIME_MS),
    source: form(/^[a-z0-9][a-z0-9.-]{0,31}$/),
  },
  register: {
    username: form(/^[A-Za-z0-9_-]{3,20}$/),
    credential: text(0, MAX_CREDENTIAL_LENGTH),
    referralCode: text(0, MAX_REFERENCE_LENGTH),
    grantMicros: whole(0, MAX_TRANSFER_MICROS),
    partner: (value) => value === null || text(1, MAX_REFERENCE_LENGTH)(value),
  },
  setCredential: { credential: text(0, MAX_CREDENTIAL_LENGTH) },
  deposit: isTransfer,
  withdraw: isTransfer,
  buy: { ...isOrder, budgetMicros: whole(1, MAX_ORDER_MICROS), sizeLots: whole(1, UNSIZED_LOTS) },
  sell: isOrder,
  cancel: { ...isUsers, clientOrderId: isName },
  cancelAll: { ...isUsers },
  cancelEverywhere: { ...isUsers },
  cancelDisconnected: { lastOrderId: whole(1, Number.MAX_SAFE_INTEGER) },
  amend: {
    ...isUsers,
    clientOrderId: isName,
    sizeLots: whole(0, MAX_ORDER_LOTS),
    priceTicks: whole(0, 999),
  },
  claim: { ...isUsers },
  split: { ...isUsers, sizeLots: whole(1, MAX_ORDER_LOTS) },
  merge: { ...isUsers, sizeLots: whole(1, MAX_ORDER_LOTS) },
  stake: { ...isUsers, amountMicros: whole(MIN_STAKE_MICROS, MAX_TRANSFER_MICROS) },
  unstake: { ...isUsers },
  claimYield: { ...isUsers },
  setReferralCode: { ...isUsers, code: form(CODE) },
  setPrivacy: { ...isUsers, privacy: whole(0, 2) },
  setAutoClaim: { ...isUsers, enabled: isFlag },
  startAgain: { ...isUsers, grantMicros: whole(0, MAX_TRANSFER_MICROS) },
  createSubAccount: { ...isUsers, username: form(CODE) },
  transferMoney: { ...isUsers, amountMicros: whole(1, MAX_TRANSFER_MICROS) },
  batch: { ...isUsers, atomic: isFlag },
  vouchForSnapshot: {
    snapshotSequence: whole(1, Number.MAX_SAFE_INTEGER),
    snapshotHash: form(/^[0-9a-f]{64}$/),
  },
  createToken: {
    name: text(1, MAX_TOKEN_NAME_LENGTH),
    scope: whole(0, 1),
    expiresAtMs: whole(1, MAX_TIME_MS),
    allowedAddresses: text(0, MAX_ALLOWED_ADDRESSES_LENGTH),
  },
  revokeToken: {},
  createOrderGroup: {
    ...isUsers,
    maxFilledLots: whole(1, MAX_ORDER_LOTS),
    windowMs: whole(100, 3_600_000),
  },
  resetOrderGroup: isUsers,
  removeOrderGroup: isUsers,
  setPaused: { ...isSigned, paused: isFlag },
  setFrozen: { ...isSigned, frozen: isFlag },
  operatorCancel: isSigned,
  voidMarket: isSigned,
  setRules: isSigned,
  setRateTier: { ...isSigned, rateTier: (value) => [1, 2, 5, 10].includes(value as number) },
  resetCredential: { ...isSigned, credential: text(1, MAX_CREDENTIAL_LENGTH) },
  recordUpgrade: {
    fromVersion: whole(0, Number.MAX_SAFE_INTEGER),
    toVersion: whole(1, Number.MAX_SAFE_INTEGER),
    chainHash: form(/^[0-9a-f]{64}$/),
  },
  setCancelAfter: {
    ...isUsers,
    timeoutMs: (value) => value === 0 || whole(1_000, 3_600_000)(value),
  },
};

export function isWellFormed(command: Command, nowMs: number): boolean {
  const fields = command as unknown as Record<string, unknown>;
  const formed = Object.entries(FORMS[command.kind]).every(([name, check]) => check(fields[name]));
  if (!formed) return false;
  if (command.kind === 'setPaused') return command.marketId === 0 || command.asset === -1;
  if (command.kind === 'transferMoney') return command.fromUserId !== command.toUserId;
  if (command.kind === 'setRules') return areRules(command);
  if (command.kind === 'recordUpgrade') return command.fromVersion < command.toVersion;
  if (command.kind === 'observePrice' || command.kind === 'observeSourcePrice')
    return command.observedAtMs <= nowMs;
  const isNamed = 'clientOrderId' in command && typeof command.clientOrderId === 'string';
  if ((command.kind === 'cancel' || command.kind === 'amend') && isNamed && command.orderId !== 0)
    return false;
  if (command.kind === 'buy' || command.kind === 'sell') {
    const mayRest = command.timeInForce === 2;
    const { postOnly, expiresAtMs, groupId } = command;
    return mayRest || (!postOnly && expiresAtMs === undefined && groupId === undefined);
  }
  if (command.kind === 'amend') return command.sizeLots + command.priceTicks > 0;
  if (command.kind === 'batch') return isBatch(command.operations, command.userId);
  return true;
}

/** Set 1 has fixed values; the others have bounds for each value. */
function areRules({
  ruleSet,
  takerFeeBasisPoints,
  curveFeeBasisPoints,
  makerSharePercent,
  vaultSharePercent,
  maxOrderMicros,
  maxOpenOrders,
  minRestingMicros,
}: CommandOf<'setRules'>): boolean {
  const orders = [maxOrderMicros, maxOpenOrders, minRestingMicros];
  const makers = [curveFeeBasisPoints, makerSharePercent];
  const values = [takerFeeBasisPoints, vaultSharePercent, ...orders, ...makers];
  if (ruleSet === 1) return String(values) === '50,40,1000000000000,1000,1000000,0,0';
  return (
    (ruleSet === 3 || (ruleSet === 2 && String(makers) === '0,0')) &&
    whole(0, 1_000)(curveFeeBasisPoints) &&
    whole(0, 50)(makerSharePercent) &&
    whole(0, 1_000)(takerFeeBasisPoints) &&
    whole(0, 90)(vaultSharePercent) &&
    whole(1_000_000, 1_000_000_000_000)(maxOrderMicros) &&
    whole(1, 1_000)(maxOpenOrders) &&
    whole(0, 1_000_000_000)(minRestingMicros)
  );
}

const OPERATIONS: CommandName[] = [
  'buy',
  'sell',
  'cancel',
  'claim',
  'cancelAll',
  'cancelEverywhere',
  'amend',
  'split',
  'merge',
];

/**
 * An operation with another user or a key refuses the whole batch. Any other mistake refuses only
 * its own operation.
 */
function isBatch(operations: BatchOperation[], userId: number): boolean {
  return (
    whole(1, MAX_BATCH_OPERATIONS)(operations.length) &&
    operations.every(
      (operation) =>
        OPERATIONS.includes(operation.kind) &&
        operation.userId === userId &&
        operation.idempotencyKey === null,
    )
  );
}
