/**
 * Commands, answers, events and views as objects: the engine's fields, with the names, units and
 * ids of the API. A field whose name ends with a unit is shown by that unit. Every other field must
 * have a row in a table here; otherwise the file does not compile.
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
import type {
  AccountView,
  FundsView,
  MarketFundsView,
  MarketView,
  OrderGroupView,
  OrderView,
  PositionView,
  VaultDepositView,
} from '../../../../engine/interface/views.js';
import { dollars, expiry, type JsonObject, type JsonValue, price, shares } from './units.js';

export type Names = Pick<Engine, 'assetCount' | 'assetSymbol' | 'findAsset' | 'partnerName'>;

type KeysOf<C> = C extends unknown ? keyof C : never;
type EventField = (typeof EVENT_FIELDS)[Exclude<EventName, 'orderNamed'>][number];
type View =
  | AccountView
  | MarketView
  | MarketFundsView
  | FundsView
  | OrderView
  | OrderGroupView
  | PositionView
  | VaultDepositView;
type Field = Exclude<KeysOf<Command>, 'kind' | 'operations'> | EventField | KeysOf<View>;
type Show = (value: never, names: Names) => JsonValue;
type Row = readonly [name: string, show: Show];

const unchanged = (value: JsonValue) => value;
const flag = (value: boolean | number) => value === true || value === 1;
const id = (letter: string) => (number: number) => (number === 0 ? null : `${letter}${number}`);
const nameOf = (names: Readonly<Record<string, number>>) => (value: number | string) =>
  Object.keys(names).find((name) => names[name] === value) ?? value;
const rate = (perDollar: number) => (value: number | null) =>
  dollars(value === null ? null : value * perDollar);
const market = (marketId: number, names: Names) =>
  marketId === 0 ? null : marketName(marketId, names);
/** An end price; 0 means unknown, or none. */
const endPrice = (micros: number) => (micros === 0 ? null : dollars(micros));

/**
 * By the unit at the end of a field's name: the name without the unit, and the form of the value.
 */
const UNITS: Record<'Micros' | 'Lots' | 'Ticks' | 'Ms', (field: string, unit: string) => Row> = {
  Micros: (field, unit) => [field.slice(0, -unit.length), dollars],
  Lots: (field, unit) => [`${field.slice(0, -unit.length)}Shares`, shares],
  Ticks: (field, unit) => [field.slice(0, -unit.length), price],
  Ms: (field) => [field, unchanged],
};
type Unit = keyof typeof UNITS;
const UNIT = new RegExp(`(${Object.keys(UNITS).join('|')})$`);

/** The shown name of each other field, and the value's form. */
const FIELDS: Record<Exclude<Field, `${string}${Unit}`>, Row> & Partial<Record<Field, Row>> = {
  ahead: ['ahead', flag],
  allowedAddresses: ['allowedAddresses', unchanged],
  anew: ['anew', flag],
  asset: ['asset', symbolOf],
  atomic: ['atomic', flag],
  autoClaim: ['autoClaim', flag],
  automatic: ['automatic', flag],
  chainHash: ['chainHash', unchanged],
  clientOrderId: ['clientOrderId', unchanged],
  closed: ['closed', flag],
  code: ['code', unchanged],
  // Credentials are secret.
  credential: ['hasCredential', (credential: string) => credential !== ''],
  curveFeeBasisPoints: ['curveFeeRate', rate(100)],
  depositId: ['depositId', id('d')],
  enabled: ['enabled', flag],
  endPriceMicros: ['endPrice', endPrice],
  feeBasisPoints: ['feeRate', rate(100)],
  expiresAtMs: ['expiresAtMs', expiry],
  fromVersion: ['fromVersion', unchanged],
  fromUserId: ['fromUserId', id('u')],
  frozen: ['frozen', flag],
  groupId: ['groupId', id('g')],
  idempotencyKey: ['idempotencyKey', keyText],
  keptPriority: ['keptPriority', flag],
  lastOrderId: ['lastOrderId', id('o')],
  makerId: ['makerId', id('u')],
  makerOrderId: ['makerOrderId', id('o')],
  makerOutcome: ['makerOutcome', nameOf(Outcome)],
  makerSharePercent: ['makerShare', rate(10_000)],
  makerSide: ['makerSide', nameOf(Side)],
  marketId: ['marketId', market],
  matchType: ['matchType', nameOf(MatchType)],
  maxOpenOrders: ['openOrders', unchanged],
  maxOrderMicros: ['orderAmount', dollars],
  minRestingMicros: ['restingOrderValue', dollars],
  microPoints: ['points', dollars],
  name: ['name', unchanged],
  oldSizeLots: ['oldShares', shares],
  operator: ['operator', unchanged],
  orderCount: ['orders', unchanged],
  orderId: ['orderId', id('o')],
  outcome: ['outcome', nameOf(Outcome)],
  parentId: ['parentId', id('u')],
  partner: ['partner', partnerOf],
  paused: ['paused', flag],
  postOnly: ['postOnly', flag],
  privacy: ['privacy', nameOf(Privacy)],
  reason: ['reason', unchanged],
  reference: ['reference', unchanged],
  referralCode: ['referralCode', unchanged],
  referrerId: ['referrerId', id('u')],
  resolution: ['resolution', resolutionName],
  ruleSet: ['ruleSet', unchanged],
  scope: ['scope', nameOf(TokenScope)],
  selfTrade: ['selfTrade', nameOf(SelfTrade)],
  side: ['side', nameOf(Side)],
  sizeLots: ['shares', shares],
  snapshotHash: ['snapshotHash', unchanged],
  snapshotSequence: ['snapshotSequence', unchanged],
  source: ['source', nameOf(DepositSource)],
  startPriceFinal: ['startPriceFinal', flag],
  status: ['status', nameOf(OrderStatus)],
  symbol: ['symbol', unchanged],
  takerFeeBasisPoints: ['feeRate', rate(100)],
  takerId: ['takerId', id('u')],
  takerOrderId: ['takerOrderId', id('o')],
  takerOutcome: ['takerOutcome', nameOf(Outcome)],
  takerSide: ['takerSide', nameOf(Side)],
  timeInForce: ['timeInForce', nameOf(TimeInForce)],
  tokenId: ['tokenId', id('k')],
  toVersion: ['toVersion', unchanged],
  tradeCount: ['trades', unchanged],
  tradeId: ['tradeId', id('t')],
  tripped: ['tripped', flag],
  upTicks: ['upPrice', price],
  toUserId: ['toUserId', id('u')],
  userId: ['userId', id('u')],
  username: ['username', unchanged],
  validUntilMs: ['validUntilMs', expiry],
  vaultSharePercent: ['vaultShare', rate(10_000)],
  version: ['version', unchanged],
};
/** Events have reasons as numbers. */
const REASONS: Partial<Record<EventName, Show>> = {
  orderCancelled: nameOf(CancelReason),
  pointsCredited: nameOf(PointsReason),
};

function rowOf(field: string): Row {
  const row = FIELDS[field as Field];
  if (row !== undefined) return row;
  const [unit] = UNIT.exec(field)!;
  return UNITS[unit as Unit](field, unit);
}

function shown(value: unknown, show: Show, names: Names): JsonValue {
  // The journal also holds refused commands, which may have any number.
  if (typeof value === 'number' && !Number.isSafeInteger(value)) return `${value}`;
  return show(value as never, names);
}

export function commandObject({ kind, ...fields }: Command, names: Names): JsonObject {
  if (!('operations' in fields)) return { kind, ...viewObject(fields, names) };
  const { operations, ...others } = fields;
  const each = operations.map((operation) => commandObject(operation, names));
  return { kind, ...viewObject(others, names), operations: each };
}

export function viewObject(view: Partial<Record<Field, unknown>>, names: Names): JsonObject {
  const rows = Object.entries(view).map(([field, value]) => {
    const [name, show] = rowOf(field);
    return [name, shown(value, show, names)] as const;
  });
  return Object.fromEntries(rows);
}

export function eventObject(event: EventRecord, names: Names): JsonObject {
  if (event.type === 'orderNamed') {
    const { type, orderId, userId } = event;
    return { type, orderId: `o${orderId}`, userId: `u${userId}`, clientOrderId: nameIn(event) };
  }
  const { type, ...fields } = event;
  const object = viewObject(fields, names);
  if (!('reason' in fields)) return { type, ...object };
  return { type, ...object, reason: shown(fields.reason, REASONS[type]!, names) };
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

/** The last command's result: its code and details. */
export type Answer = {
  code: string;
  /** Whether the answer repeats an earlier command's, by idempotency key. */
  replayed: boolean;
  operationCodes: string[];
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

/** The name of a partner: commands have the name, events the number. */
function partnerOf(partner: string | number | null, names: Names): string | null {
  return typeof partner === 'number' ? names.partnerName(partner) : partner;
}

/**
 * The symbol of an asset. A refused command may name an unknown asset, which is shown by number.
 */
function symbolOf(asset: number, names: Names): string {
  return isListed(asset, names) ? names.assetSymbol(asset) : `asset ${asset}`;
}

export function marketName(marketId: number, names: Names): string {
  return isListed(marketId % 64, names) ? marketIdText(names, marketId) : `market ${marketId}`;
}

function isListed(asset: number, { assetCount }: Names): boolean {
  return asset >= 0 && asset < assetCount;
}
