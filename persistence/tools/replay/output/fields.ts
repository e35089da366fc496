/**
 * Commands, answers and events as objects: the engine's, field by field, with the names, units and
 * ids of the API. Every field has its row in one table; a field without one does not compile.
 */
import type { Engine } from '../../../../engine/engine.js';
import { numberOfKey } from '../../../../engine/interface/client-sequence.js';
import { CODES } from '../../../../engine/interface/codes.js';
import type { Command } from '../../../../engine/interface/commands.js';
import {
  CancelReason,
  DepositSource,
  MatchType,
  OrderStatus,
  Outcome,
  PointsReason,
  Privacy,
  SelfTrade,
  Side,
  TimeInForce,
  TokenScope,
} from '../../../../engine/interface/domain.js';
import {
  type EVENT_FIELDS,
  type EventName,
  type EventRecord,
  nameIn,
} from '../../../../engine/interface/events.js';
import { marketIdText, resolutionName } from '../../../../engine/interface/notation.js';
import {
  FIRST_OPERATION,
  nextOperation,
  RESULT_HEAD_LENGTH,
  ResultHead,
} from '../../../../engine/interface/results.js';
import { dollars, expiry, type JsonObject, type JsonValue, price, shares } from './units.js';

/** The names of assets, markets and partners. */
export type Names = Pick<Engine, 'assetCount' | 'assetSymbol' | 'findAsset' | 'partnerName'>;

type KeysOf<C> = C extends unknown ? keyof C : never;
type EventField = (typeof EVENT_FIELDS)[Exclude<EventName, 'orderNamed'>][number];
type Field = Exclude<KeysOf<Command>, 'kind' | 'operations'> | EventField;
type Show = (value: never, names: Names) => JsonValue;

const unchanged = (value: JsonValue) => value;
const flag = (value: boolean | number) => value === true || value === 1;
const id = (letter: string) => (number: number) => (number === 0 ? null : `${letter}${number}`);
const nameOf = (names: Readonly<Record<string, number>>) => (value: number | string) =>
  Object.keys(names).find((name) => names[name] === value) ?? value;
const rate = (perDollar: number) => (value: number) => dollars(value * perDollar);
const market = (marketId: number, names: Names) =>
  marketId === 0 ? null : marketName(marketId, names);
/** 0: it is not known yet, or there is none. */
const endPrice = (micros: number) => (micros === 0 ? null : dollars(micros));

/** The name of each field of commands and events, and how its value is shown. */
const FIELDS: Record<Field, readonly [name: string, show: Show]> = {
  ahead: ['ahead', flag],
  allowedAddresses: ['allowedAddresses', unchanged],
  amountMicros: ['amount', dollars],
  anew: ['anew', flag],
  asset: ['asset', symbolOf],
  atomic: ['atomic', flag],
  automatic: ['automatic', flag],
  budgetMicros: ['budget', dollars],
  chainHash: ['chainHash', unchanged],
  clientOrderId: ['clientOrderId', unchanged],
  code: ['code', unchanged],
  costMicros: ['cost', dollars],
  // Credentials are secret.
  credential: ['hasCredential', (credential: string) => credential !== ''],
  depositId: ['depositId', id('d')],
  downCostMicros: ['downCost', dollars],
  downLots: ['downShares', shares],
  dueAtMs: ['dueAtMs', unchanged],
  earnsFromMs: ['earnsFromMs', unchanged],
  endPriceMicros: ['endPrice', endPrice],
  expiresAtMs: ['expiresAtMs', expiry],
  feeMicros: ['fee', dollars],
  feesMicros: ['fees', dollars],
  fromVersion: ['fromVersion', unchanged],
  filledLots: ['filledShares', shares],
  fromUserId: ['fromUserId', id('u')],
  frozen: ['frozen', flag],
  grantMicros: ['grant', dollars],
  groupId: ['groupId', id('g')],
  idempotencyKey: ['idempotencyKey', keyText],
  keptPriority: ['keptPriority', flag],
  lastOrderId: ['lastOrderId', id('o')],
  makerId: ['makerId', id('u')],
  makerOrderId: ['makerOrderId', id('o')],
  makerOutcome: ['makerOutcome', nameOf(Outcome)],
  makerProfitMicros: ['makerProfit', dollars],
  makerSide: ['makerSide', nameOf(Side)],
  marketId: ['marketId', market],
  matchType: ['matchType', nameOf(MatchType)],
  maxFilledLots: ['maxFilledShares', shares],
  maxOpenOrders: ['openOrders', unchanged],
  maxOrderMicros: ['orderAmount', dollars],
  minRestingMicros: ['restingOrderValue', dollars],
  microPoints: ['points', dollars],
  name: ['name', unchanged],
  observedAtMs: ['observedAtMs', unchanged],
  oldPriceTicks: ['oldPrice', price],
  oldSizeLots: ['oldShares', shares],
  operator: ['operator', unchanged],
  orderId: ['orderId', id('o')],
  originalLots: ['originalShares', shares],
  outcome: ['outcome', nameOf(Outcome)],
  parentId: ['parentId', id('u')],
  partner: ['partner', partnerOf],
  paused: ['paused', flag],
  payoutMicros: ['payout', dollars],
  postOnly: ['postOnly', flag],
  priceMicros: ['price', dollars],
  priceTicks: ['price', price],
  privacy: ['privacy', nameOf(Privacy)],
  profitMicros: ['profit', dollars],
  reason: ['reason', unchanged],
  reference: ['reference', unchanged],
  referralCode: ['referralCode', unchanged],
  referrerId: ['referrerId', id('u')],
  referrersMicros: ['referrers', dollars],
  refundMicros: ['refund', dollars],
  resolution: ['resolution', resolutionName],
  restingLots: ['restingShares', shares],
  ruleSet: ['ruleSet', unchanged],
  scope: ['scope', nameOf(TokenScope)],
  selfTrade: ['selfTrade', nameOf(SelfTrade)],
  side: ['side', nameOf(Side)],
  sizeLots: ['shares', shares],
  snapshotHash: ['snapshotHash', unchanged],
  snapshotSequence: ['snapshotSequence', unchanged],
  source: ['source', nameOf(DepositSource)],
  startPriceMicros: ['startPrice', dollars],
  status: ['status', nameOf(OrderStatus)],
  symbol: ['symbol', unchanged],
  takerFeeBasisPoints: ['feeRate', rate(100)],
  takerId: ['takerId', id('u')],
  takerOrderId: ['takerOrderId', id('o')],
  takerOutcome: ['takerOutcome', nameOf(Outcome)],
  takerProfitMicros: ['takerProfit', dollars],
  takerSide: ['takerSide', nameOf(Side)],
  timeInForce: ['timeInForce', nameOf(TimeInForce)],
  timeoutMs: ['timeoutMs', unchanged],
  tokenId: ['tokenId', id('k')],
  toVersion: ['toVersion', unchanged],
  tradeId: ['tradeId', id('t')],
  treasuryMicros: ['treasury', dollars],
  upCostMicros: ['upCost', dollars],
  upLots: ['upShares', shares],
  upTicks: ['upPrice', price],
  toUserId: ['toUserId', id('u')],
  userId: ['userId', id('u')],
  username: ['username', unchanged],
  validUntilMs: ['validUntilMs', expiry],
  vaultMicros: ['vault', dollars],
  vaultSharePercent: ['vaultShare', rate(10_000)],
  version: ['version', unchanged],
  windowMs: ['windowMs', unchanged],
  yieldMicros: ['yield', dollars],
};
/** In an event, a reason is a number. */
const REASONS: Partial<Record<EventName, Show>> = {
  orderCancelled: nameOf(CancelReason),
  pointsCredited: nameOf(PointsReason),
};

function shown(value: unknown, show: Show, names: Names): JsonValue {
  // The journal holds refused commands, too, and those may have any number.
  if (typeof value === 'number' && !Number.isSafeInteger(value)) return `${value}`;
  return show(value as never, names);
}

export function commandObject({ kind, ...fields }: Command, names: Names): JsonObject {
  const object: Record<string, JsonValue> = { kind };
  for (const [field, value] of Object.entries(fields)) {
    if (field === 'operations') {
      object[field] = (value as readonly Command[]).map((each) => commandObject(each, names));
      continue;
    }
    const [name, show] = FIELDS[field as Field];
    object[name] = shown(value, show, names);
  }
  return object;
}

export function eventObject(event: EventRecord, names: Names): JsonObject {
  if (event.type === 'orderNamed') {
    const { type, orderId, userId } = event;
    return { type, orderId: `o${orderId}`, userId: `u${userId}`, clientOrderId: nameIn(event) };
  }
  const { type, ...fields } = event;
  const object: Record<string, JsonValue> = { type };
  for (const [field, value] of Object.entries(fields)) {
    const [name, show] = FIELDS[field as Field];
    object[name] = shown(value, field === 'reason' ? REASONS[type]! : show, names);
  }
  return object;
}

export function senderText(command: Command): string {
  if ('operator' in command)
    return `operator ${JSON.stringify(command.operator)}, because ${JSON.stringify(command.reason)}`;
  if ('reference' in command) return `partner ${JSON.stringify(command.partner)}`;
  if ('userId' in command) return `u${command.userId}`;
  return command.kind === 'register'
    ? `sign-up of ${JSON.stringify(command.username)}`
    : 'the exchange';
}

/** The result of the last command: the code and its details. */
export type Answer = {
  code: string;
  /** The idempotency key replayed the answer to an earlier command. */
  replayed: boolean;
  /** The codes of a batch's operations. */
  operationCodes: string[];
  /** The amounts of insufficient_balance and insufficient_shares. */
  required: JsonValue;
  available: JsonValue;
};

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

function keyText(key: string | null): string | null {
  const numbered = key === null ? null : numberOfKey(key);
  if (numbered === null) return key;
  const { tokenId, clientSequence } = numbered;
  return `client sequence ${clientSequence} of ${tokenId === 0 ? 'the password' : `k${tokenId}`}`;
}

/** By its name in a command, by its number in an event. */
function partnerOf(partner: string | number | null, names: Names): string | null {
  return typeof partner === 'number' ? names.partnerName(partner) : partner;
}

/** A refused command may name an unknown asset, which is shown by its number. */
export function symbolOf(asset: number, names: Names): string {
  return isListed(asset, names) ? names.assetSymbol(asset) : `asset ${asset}`;
}

export function marketName(marketId: number, names: Names): string {
  return isListed(marketId % 64, names) ? marketIdText(names, marketId) : `market ${marketId}`;
}

function isListed(asset: number, { assetCount }: Names): boolean {
  return asset >= 0 && asset < assetCount;
}
