/**
 * Commands, answers and events, as JSON and as a line of text: the engine's, field by field, with
 * the names, units and ids of the API. Every field has its row in one table; a field without one
 * does not compile.
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
import {
  COUNT,
  DOLLARS,
  dollars,
  EXPIRY,
  type JsonValue,
  jsonText,
  POINTS,
  PRICE,
  SHARES,
  TIME,
  type Unit,
} from './units.js';

/** The names of assets, markets and partners. */
export type Names = Pick<Engine, 'assetCount' | 'assetSymbol' | 'findAsset' | 'partnerName'>;

type KeysOf<C> = C extends unknown ? keyof C : never;
type EventField = (typeof EVENT_FIELDS)[Exclude<EventName, 'orderNamed'>][number];
type Field = Exclude<KeysOf<Command>, 'kind' | 'operations'> | EventField;
/** How a field is shown: a number with its unit; anything else as its JSON, in text too. */
type Show = Unit | ((value: never, names: Names) => JsonValue);

const unchanged = (value: JsonValue) => value;
const flag = (value: boolean | number) => value === true || value === 1;
const id = (letter: string) => (number: number) => (number === 0 ? null : `${letter}${number}`);
const nameOf = (names: Readonly<Record<string, number>>) => (value: number | string) =>
  Object.keys(names).find((name) => names[name] === value) ?? value;
const rate = (perDollar: number) => (value: number) => dollars(value * perDollar);
const market = (marketId: number, names: Names) =>
  marketId === 0 ? null : marketName(marketId, names);
/** 0: it is not known yet, or there is none. */
const endPrice: Unit = { ...DOLLARS, json: (micros) => (micros === 0 ? null : dollars(micros)) };

/** The name of each field of commands and events, and how its value is shown. */
const FIELDS: Record<Field, readonly [name: string, show: Show]> = {
  ahead: ['ahead', flag],
  allowedAddresses: ['allowedAddresses', unchanged],
  amountMicros: ['amount', DOLLARS],
  anew: ['anew', flag],
  asset: ['asset', symbolOf],
  atomic: ['atomic', flag],
  automatic: ['automatic', flag],
  budgetMicros: ['budget', DOLLARS],
  chainHash: ['chainHash', unchanged],
  clientOrderId: ['clientOrderId', unchanged],
  code: ['code', unchanged],
  costMicros: ['cost', DOLLARS],
  // Credentials are secret.
  credential: ['hasCredential', (credential: string) => credential !== ''],
  depositId: ['depositId', id('d')],
  downCostMicros: ['downCost', DOLLARS],
  downLots: ['downShares', SHARES],
  dueAtMs: ['dueAtMs', TIME],
  earnsFromMs: ['earnsFromMs', TIME],
  endPriceMicros: ['endPrice', endPrice],
  expiresAtMs: ['expiresAtMs', EXPIRY],
  feeMicros: ['fee', DOLLARS],
  feesMicros: ['fees', DOLLARS],
  fromVersion: ['fromVersion', COUNT],
  filledLots: ['filledShares', SHARES],
  fromUserId: ['fromUserId', id('u')],
  frozen: ['frozen', flag],
  grantMicros: ['grant', DOLLARS],
  groupId: ['groupId', id('g')],
  idempotencyKey: ['idempotencyKey', keyText],
  keptPriority: ['keptPriority', flag],
  lastOrderId: ['lastOrderId', id('o')],
  makerId: ['makerId', id('u')],
  makerOrderId: ['makerOrderId', id('o')],
  makerOutcome: ['makerOutcome', nameOf(Outcome)],
  makerProfitMicros: ['makerProfit', DOLLARS],
  makerSide: ['makerSide', nameOf(Side)],
  marketId: ['marketId', market],
  matchType: ['matchType', nameOf(MatchType)],
  maxFilledLots: ['maxFilledShares', SHARES],
  maxOpenOrders: ['openOrders', COUNT],
  maxOrderMicros: ['orderAmount', DOLLARS],
  minRestingMicros: ['restingOrderValue', DOLLARS],
  microPoints: ['points', POINTS],
  name: ['name', unchanged],
  observedAtMs: ['observedAtMs', TIME],
  oldPriceTicks: ['oldPrice', PRICE],
  oldSizeLots: ['oldShares', SHARES],
  operator: ['operator', unchanged],
  orderId: ['orderId', id('o')],
  originalLots: ['originalShares', SHARES],
  outcome: ['outcome', nameOf(Outcome)],
  parentId: ['parentId', id('u')],
  partner: ['partner', partnerOf],
  paused: ['paused', flag],
  payoutMicros: ['payout', DOLLARS],
  postOnly: ['postOnly', flag],
  priceMicros: ['price', DOLLARS],
  priceTicks: ['price', PRICE],
  privacy: ['privacy', nameOf(Privacy)],
  profitMicros: ['profit', DOLLARS],
  reason: ['reason', unchanged],
  reference: ['reference', unchanged],
  referralCode: ['referralCode', unchanged],
  referrerId: ['referrerId', id('u')],
  referrersMicros: ['referrers', DOLLARS],
  refundMicros: ['refund', DOLLARS],
  resolution: ['resolution', resolutionName],
  restingLots: ['restingShares', SHARES],
  ruleSet: ['ruleSet', COUNT],
  scope: ['scope', nameOf(TokenScope)],
  selfTrade: ['selfTrade', nameOf(SelfTrade)],
  side: ['side', nameOf(Side)],
  sizeLots: ['shares', SHARES],
  snapshotHash: ['snapshotHash', unchanged],
  snapshotSequence: ['snapshotSequence', COUNT],
  source: ['source', nameOf(DepositSource)],
  startPriceMicros: ['startPrice', DOLLARS],
  status: ['status', nameOf(OrderStatus)],
  symbol: ['symbol', unchanged],
  takerFeeBasisPoints: ['feeRate', rate(100)],
  takerId: ['takerId', id('u')],
  takerOrderId: ['takerOrderId', id('o')],
  takerOutcome: ['takerOutcome', nameOf(Outcome)],
  takerProfitMicros: ['takerProfit', DOLLARS],
  takerSide: ['takerSide', nameOf(Side)],
  timeInForce: ['timeInForce', nameOf(TimeInForce)],
  timeoutMs: ['timeoutMs', COUNT],
  tokenId: ['tokenId', id('k')],
  toVersion: ['toVersion', COUNT],
  tradeId: ['tradeId', id('t')],
  treasuryMicros: ['treasury', DOLLARS],
  upCostMicros: ['upCost', DOLLARS],
  upLots: ['upShares', SHARES],
  upTicks: ['upPrice', PRICE],
  toUserId: ['toUserId', id('u')],
  userId: ['userId', id('u')],
  username: ['username', unchanged],
  validUntilMs: ['validUntilMs', EXPIRY],
  vaultMicros: ['vault', DOLLARS],
  vaultSharePercent: ['vaultShare', rate(10_000)],
  version: ['version', COUNT],
  windowMs: ['windowMs', COUNT],
  yieldMicros: ['yield', DOLLARS],
};
/** In an event, a reason is a number. */
const REASONS: Partial<Record<EventName, Show>> = {
  orderCancelled: nameOf(CancelReason),
  pointsCredited: nameOf(PointsReason),
};

/** A field as both show it. Text leaves out what is null or empty. */
interface Shown {
  name: string;
  json: JsonValue;
  text: string | null;
}

function shown(value: unknown, [name, show]: (typeof FIELDS)[Field], names: Names): Shown {
  // The journal holds refused commands, too, and those may have any number.
  if (typeof value === 'number' && !Number.isSafeInteger(value))
    return { name, json: `${value}`, text: `${value}` };
  if (typeof show === 'object') {
    const json = show.json(value as number);
    return { name, json, text: json === null ? null : show.text(value as number) };
  }
  const json = show(value as never, names);
  return { name, json, text: json === null || json === '' ? null : plainText(json) };
}

function shownCommand(command: Command, names: Names): Shown[] {
  const fields = Object.entries(command).filter(([name]) => name !== 'kind');
  return fields.map(([field, value]) =>
    field === 'operations'
      ? operations(value as readonly Command[], names)
      : shown(value, FIELDS[field as Field], names),
  );
}

function operations(each: readonly Command[], names: Names): Shown {
  const json = each.map((operation) => commandObject(operation, names));
  const text = `(${each.map((operation) => commandText(operation, names)).join('; ')})`;
  return { name: 'operations', json, text };
}

function shownEvent(event: EventRecord, names: Names): Shown[] {
  const { type, ...numbers } =
    event.type === 'orderNamed'
      ? {
          type: event.type,
          orderId: event.orderId,
          userId: event.userId,
          clientOrderId: nameIn(event),
        }
      : event;
  const fields = Object.entries(numbers);
  return fields.map(([field, value]) => {
    const [name, show] = FIELDS[field as Field];
    return shown(value, [name, field === 'reason' ? REASONS[type]! : show], names);
  });
}

function objectOf(fields: readonly Shown[]): { [name: string]: JsonValue } {
  return Object.fromEntries(fields.map(({ name, json }) => [name, json]));
}

function textOf(fields: readonly Shown[]): string {
  const given = fields.filter(({ text }) => text !== null);
  return given.map(({ name, text }) => ` ${name} ${text}`).join(',');
}

export function commandObject(command: Command, names: Names): JsonValue {
  return { kind: command.kind, ...objectOf(shownCommand(command, names)) };
}

export function commandText(command: Command, names: Names): string {
  return `${command.kind}${textOf(shownCommand(command, names))}`;
}

export function eventObject(event: EventRecord, names: Names): JsonValue {
  return { type: event.type, ...objectOf(shownEvent(event, names)) };
}

export function eventText(event: EventRecord, names: Names): string {
  return `${event.type}${textOf(shownEvent(event, names))}`;
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
    code === 'insufficient_balance' ? DOLLARS : code === 'insufficient_shares' ? SHARES : null;
  return {
    code,
    replayed: engine.replayed,
    operationCodes: isBatch ? operationCodes(values) : [],
    required: short === null ? null : short.json(values[RESULT_HEAD_LENGTH]!),
    available: short === null ? null : short.json(values[RESULT_HEAD_LENGTH + 1]!),
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

export function answerText(answer: Answer): string {
  const { code, replayed, operationCodes, required, available } = answer;
  const repeated = replayed ? ' (replayed answer to an earlier command)' : '';
  const operations = operationCodes.length === 0 ? '' : ` (${operationCodes.join(', ')})`;
  const shortage =
    required === null ? '' : ` (needs ${plainText(required)}, has ${plainText(available)})`;
  return `${code}${operations}${shortage}${repeated}`;
}

/** Users choose names and references: JSON keeps control characters from the terminal. */
function plainText(json: JsonValue): string {
  return typeof json === 'string' && /^[\w-]+$/.test(json) ? json : jsonText(json);
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
