/**
 * Commands, results and events as JSON: the engine's, field by field, with the units and ids of the
 * API. Every field has its row in a table here; a field without one does not compile.
 */
import type { Engine } from '../../../engine/engine.js';
import { numberOfKey } from '../../../engine/interface/client-sequence.js';
import { CODES } from '../../../engine/interface/codes.js';
import type { Command } from '../../../engine/interface/commands.js';
import {
  CancelReason,
  DepositSource,
  MatchType,
  Outcome,
  PointsReason,
  SelfTrade,
  TimeInForce,
  TokenScope,
} from '../../../engine/interface/domain.js';
import type { EVENT_FIELDS, EventName, EventRecord } from '../../../engine/interface/events.js';
import { MAX_ORDER_LOTS, MAX_TIME_MS } from '../../../engine/interface/limits.js';
import {
  marketIdText,
  outcomeName,
  resolutionName,
  sideName,
} from '../../../engine/interface/notation.js';
import {
  FIRST_OPERATION,
  nextOperation,
  RESULT_HEAD_LENGTH,
  ResultHead,
} from '../../../engine/interface/results.js';
import { dollars, type JsonValue, price, shares } from './json-values.js';

/** The names of assets, markets and partners. */
export type Names = Pick<Engine, 'assetCount' | 'assetSymbol' | 'findAsset' | 'partnerName'>;

type EventField = (typeof EVENT_FIELDS)[EventName][number];
/** The field's name and value in JSON. */
type EventJson = readonly [name: string, toJson: (value: number, names: Names) => JsonValue];

const number = (value: number) => value;
const flag = (value: number) => value === 1;
const userOrNobody = (userId: number) => (userId === 0 ? null : `u${userId}`);
const order = (orderId: number) => `o${orderId}`;
const token = (tokenId: number) => `k${tokenId}`;
const timeOrNever = (atMs: number) => (atMs === MAX_TIME_MS ? null : atMs);
const feeRate = (basisPoints: number) => dollars(basisPoints * 100);
const vaultShare = (percent: number) => dollars(percent * 10_000);
const deposit = (depositId: number) => `d${depositId}`;
const nameOf = (names: Readonly<Record<string, number>>) => (value: number) =>
  Object.keys(names).find((name) => names[name] === value) ?? value;

const EVENT_JSON: Record<Exclude<EventField, 'reason'>, EventJson> = {
  asset: ['asset', symbolOf],
  priceMicros: ['price', dollars],
  observedAtMs: ['observedAtMs', number],
  marketId: ['marketId', marketName],
  startPriceMicros: ['startPrice', dollars],
  endPriceMicros: ['endPrice', (micros) => (micros === 0 ? null : dollars(micros))],
  resolution: ['resolution', resolutionName],
  vaultMicros: ['vault', dollars],
  referrersMicros: ['referrers', dollars],
  treasuryMicros: ['treasury', dollars],
  userId: ['userId', userOrNobody],
  referrerId: ['referrerId', userOrNobody],
  partner: ['partner', (partner, names) => names.partnerName(partner)],
  version: ['version', number],
  source: ['source', nameOf(DepositSource)],
  amountMicros: ['amount', dollars],
  orderId: ['orderId', order],
  side: ['side', sideName],
  outcome: ['outcome', outcomeName],
  priceTicks: ['price', price],
  sizeLots: ['shares', shares],
  oldPriceTicks: ['oldPrice', price],
  oldSizeLots: ['oldShares', shares],
  originalLots: ['originalShares', shares],
  keptPriority: ['keptPriority', flag],
  tradeId: ['tradeId', (tradeId) => `t${tradeId}`],
  matchType: ['matchType', nameOf(MatchType)],
  upTicks: ['upPrice', price],
  takerOrderId: ['takerOrderId', order],
  takerId: ['takerId', userOrNobody],
  takerSide: ['takerSide', sideName],
  takerOutcome: ['takerOutcome', outcomeName],
  makerOrderId: ['makerOrderId', order],
  makerId: ['makerId', userOrNobody],
  makerSide: ['makerSide', sideName],
  makerOutcome: ['makerOutcome', outcomeName],
  feeMicros: ['fee', dollars],
  takerProfitMicros: ['takerProfit', dollars],
  makerProfitMicros: ['makerProfit', dollars],
  upLots: ['upShares', shares],
  downLots: ['downShares', shares],
  upCostMicros: ['upCost', dollars],
  downCostMicros: ['downCost', dollars],
  feesMicros: ['fees', dollars],
  payoutMicros: ['payout', dollars],
  refundMicros: ['refund', dollars],
  profitMicros: ['profit', dollars],
  lots: ['shares', shares],
  automatic: ['automatic', flag],
  microPoints: ['points', dollars],
  depositId: ['depositId', deposit],
  earnsFromMs: ['earnsFromMs', number],
  yieldMicros: ['yield', dollars],
  tokenId: ['tokenId', token],
  scope: ['scope', nameOf(TokenScope)],
  expiresAtMs: ['expiresAtMs', timeOrNever],
  dueAtMs: ['dueAtMs', number],
  paused: ['paused', flag],
  frozen: ['frozen', flag],
  ruleSet: ['ruleSet', number],
  takerFeeBasisPoints: ['feeRate', feeRate],
  vaultSharePercent: ['vaultShare', vaultShare],
  maxOrderMicros: ['orderAmount', dollars],
  maxOpenOrders: ['openOrders', number],
};

export const cancelReason = nameOf(CancelReason);
export const pointsReason = nameOf(PointsReason);

export function eventObject(event: EventRecord, names: Names): JsonValue {
  const fields: [string, JsonValue][] = [['type', event.type]];
  for (const [field, value] of Object.entries(event)) {
    if (typeof value === 'string') continue;
    if (field === 'reason') {
      fields.push([
        field,
        event.type === 'pointsCredited' ? pointsReason(value) : cancelReason(value),
      ]);
      continue;
    }
    const [name, toJson] = EVENT_JSON[field as keyof typeof EVENT_JSON];
    fields.push([name, toJson(value, names)]);
  }
  return Object.fromEntries(fields);
}

type KeysOf<C> = C extends unknown ? keyof C : never;
type CommandField = Exclude<KeysOf<Command>, 'kind' | 'operations'>;
type CommandJson = readonly [name: string, toJson: (value: never, names: Names) => JsonValue];

const unchanged = (value: JsonValue) => value;

function keyText(key: string | null): JsonValue {
  const numbered = key === null ? null : numberOfKey(key);
  if (numbered === null) return key;
  const { tokenId, clientSequence } = numbered;
  return `client sequence ${clientSequence} of ${tokenId === 0 ? 'the password' : token(tokenId)}`;
}

const COMMAND_JSON: Record<CommandField, CommandJson> = {
  symbol: ['symbol', unchanged],
  asset: ['asset', symbolOf],
  priceMicros: ['price', dollars],
  observedAtMs: ['observedAtMs', number],
  source: ['source', unchanged],
  username: ['username', unchanged],
  // Credentials are secret.
  credential: ['hasCredential', (credential: string) => credential !== ''],
  referralCode: ['referralCode', unchanged],
  grantMicros: ['grant', dollars],
  userId: ['userId', (userId: number) => `u${userId}`],
  amountMicros: ['amount', dollars],
  partner: ['partner', unchanged],
  reference: ['reference', unchanged],
  idempotencyKey: ['idempotencyKey', keyText],
  marketId: ['marketId', marketName],
  outcome: ['outcome', nameOf(Outcome)],
  budgetMicros: ['budget', dollars],
  sizeLots: ['shares', (lots: number) => (lots === MAX_ORDER_LOTS ? null : shares(lots))],
  priceTicks: ['price', price],
  timeInForce: ['timeInForce', nameOf(TimeInForce)],
  postOnly: ['postOnly', unchanged],
  validUntilMs: ['validUntilMs', timeOrNever],
  clientOrderId: ['clientOrderId', unchanged],
  selfTrade: ['selfTrade', nameOf(SelfTrade)],
  orderId: ['orderId', order],
  lastOrderId: ['lastOrderId', order],
  depositId: ['depositId', deposit],
  code: ['code', unchanged],
  atomic: ['atomic', unchanged],
  snapshotSequence: ['snapshotSequence', number],
  snapshotHash: ['snapshotHash', unchanged],
  tokenId: ['tokenId', token],
  scope: ['scope', nameOf(TokenScope)],
  expiresAtMs: ['expiresAtMs', timeOrNever],
  name: ['name', unchanged],
  allowedAddresses: ['allowedAddresses', unchanged],
  timeoutMs: ['timeoutMs', number],
  operator: ['operator', unchanged],
  reason: ['reason', unchanged],
  paused: ['paused', unchanged],
  frozen: ['frozen', unchanged],
  ruleSet: ['ruleSet', number],
  takerFeeBasisPoints: ['feeRate', feeRate],
  vaultSharePercent: ['vaultShare', vaultShare],
  maxOrderMicros: ['orderAmount', dollars],
  maxOpenOrders: ['openOrders', number],
  fromVersion: ['fromVersion', number],
  toVersion: ['toVersion', number],
  chainHash: ['chainHash', unchanged],
};

/**
 * Whether a number is no amount, id or time. The journal holds refused commands, too, and a refused
 * command may have any number.
 */
function isOdd(value: unknown): boolean {
  return typeof value === 'number' && !(Number.isSafeInteger(value) && value >= 0);
}

/** Whether a field has a value that no text is made for. Operations of a batch do not count. */
export function hasOddValue(command: Command): boolean {
  if ('observedAtMs' in command && command.observedAtMs > MAX_TIME_MS) return true;
  if ('outcome' in command && command.outcome > Outcome.DOWN) return true;
  if ('selfTrade' in command && (command.selfTrade ?? 0) > SelfTrade.CANCEL_BOTH) return true;
  if ('scope' in command && command.scope > TokenScope.TRADE) return true;
  if ('expiresAtMs' in command && command.expiresAtMs > MAX_TIME_MS) return true;
  return Object.values(command).some(isOdd);
}

export function commandObject(command: Command, names: Names): JsonValue {
  const fields: [string, JsonValue][] = [['kind', command.kind]];
  for (const [field, value] of Object.entries(command)) {
    if (field === 'kind' || field === 'operations') continue;
    const [name, toJson] = COMMAND_JSON[field as CommandField];
    fields.push([name, isOdd(value) ? String(value) : toJson(value as never, names)]);
  }
  if (command.kind === 'batch') {
    fields.push([
      'operations',
      command.operations.map((operation) => commandObject(operation, names)),
    ]);
  }
  return Object.fromEntries(fields);
}

/** The result of the last command: the code and its details. */
export interface Answer {
  code: string;
  /** The idempotency key replayed the answer to an earlier command. */
  replayed: boolean;
  /** The codes of a batch's operations. */
  operationCodes: string[];
  /** The amounts of insufficient_balance and insufficient_shares. */
  required: JsonValue;
  available: JsonValue;
}

export function answerOf(engine: Engine, command: Command): Answer {
  const { values } = engine.result;
  const code = CODES[values[ResultHead.code]!]!;
  const isBatch = command.kind === 'batch' && code === 'ok';
  const short =
    code === 'insufficient_balance' ? dollars : code === 'insufficient_shares' ? shares : null;
  return {
    code,
    replayed: engine.replayed,
    operationCodes: isBatch ? operationCodes(values) : [],
    required: short === null ? null : short(values[RESULT_HEAD_LENGTH]!),
    available: short === null ? null : short(values[RESULT_HEAD_LENGTH + 1]!),
  };
}

function operationCodes(values: Float64Array): string[] {
  const codes: string[] = [];
  const count = values[RESULT_HEAD_LENGTH]!;
  let at = FIRST_OPERATION;
  for (let i = 0; i < count; i++, at = nextOperation(values, at)) {
    codes.push(CODES[values[at + ResultHead.code]!]!);
  }
  return codes;
}

export function answerObject({
  code,
  replayed,
  operationCodes,
  required,
  available,
}: Answer): JsonValue {
  return { code, replayed, operationCodes, required, available };
}

/** A refused command may name an unknown asset, which is shown by its number. */
export function symbolOf(asset: number, names: Names): string {
  return asset < names.assetCount ? names.assetSymbol(asset) : `asset ${asset}`;
}

export function marketName(marketId: number, names: Names): string {
  return marketId % 64 < names.assetCount ? marketIdText(names, marketId) : `market ${marketId}`;
}
