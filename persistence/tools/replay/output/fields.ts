/**
 * Commands, answers, events and views as objects: the engine's fields, with the units and ids of
 * the API. The field's name gives its form.
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
import { type EventName, type EventRecord, nameIn } from '../../../../engine/interface/events.js';
import { marketIdText, resolutionName } from '../../../../engine/interface/notation.js';
import {
  FIRST_OPERATION,
  nextOperation,
  RESULT_HEAD_LENGTH,
  ResultHead,
} from '../../../../engine/interface/results.js';
import { dollars, expiry, type JsonObject, type JsonValue, price, shares } from './units.js';

export type Names = Pick<Engine, 'assetCount' | 'assetSymbol' | 'findAsset' | 'partnerName'>;

type Show = (value: never, names: Names) => JsonValue;
type Form = readonly [field: RegExp, shownAs: string, show: Show];

const unchanged = (value: JsonValue) => value;
const flag = (value: boolean | number) => value === true || value === 1;
const id = (letter: string) => (value: number | string | null) =>
  typeof value === 'number' ? (value === 0 ? null : `${letter}${value}`) : value;
const nameOf = (names: Readonly<Record<string, number>>) => (value: number | string) =>
  Object.keys(names).find((name) => names[name] === value) ?? value;
const rate = (perDollar: number) => (value: number | null) =>
  dollars(value === null ? null : value * perDollar);

/** The first row that matches a field's name replaces the match. Other fields are unchanged. */
const FORMS: readonly Form[] = [
  // Credentials are secret.
  [/^credential$/, 'hasCredential', (credential: string) => credential !== ''],
  [/^microPoints$/, 'points', dollars],
  // 0: unknown, or none.
  [/^endPriceMicros$/, 'endPrice', (micros: number) => dollars(micros || null)],
  [/Micros$/, '', dollars],
  [/(size)?Lots$/i, 'Shares', shares],
  [/(price)?Ticks$/i, 'Price', price],
  [/BasisPoints$/, 'Rate', rate(100)],
  [/Percent$/, '', rate(10_000)],
  [/^(expiresAtMs|validUntilMs)$/, '$&', expiry],
  [
    /^marketId$/,
    '$&',
    (marketId: number, names) => (marketId === 0 ? null : marketName(marketId, names)),
  ],
  [/orderId$/i, '$&', id('o')],
  [/^groupId$/, '$&', id('g')],
  [/^depositId$/, '$&', id('d')],
  [/^tradeId$/, '$&', id('t')],
  [/^tokenId$/, '$&', id('k')],
  [/Id$/, '$&', id('u')],
  [/outcome$/i, '$&', nameOf(Outcome)],
  [/side$/i, '$&', nameOf(Side)],
  [/^matchType$/, '$&', nameOf(MatchType)],
  [/^privacy$/, '$&', nameOf(Privacy)],
  [/^scope$/, '$&', nameOf(TokenScope)],
  [/^selfTrade$/, '$&', nameOf(SelfTrade)],
  [/^source$/, '$&', nameOf(DepositSource)],
  [/^status$/, '$&', nameOf(OrderStatus)],
  [/^timeInForce$/, '$&', nameOf(TimeInForce)],
  [/^resolution$/, '$&', resolutionName],
  [/^asset$/, '$&', symbolOf],
  [/^idempotencyKey$/, '$&', keyText],
  [/^partner$/, '$&', partnerOf],
  [/^(ahead|anew|atomic|autoClaim|automatic|closed|enabled|frozen)$/, '$&', flag],
  [/^(keptPriority|paused|postOnly|startPriceFinal|tripped)$/, '$&', flag],
];
const OTHER: Form = [/^/, '', unchanged];
/** Events have reasons as numbers. */
const REASONS: Partial<Record<EventName, Show>> = {
  orderCancelled: nameOf(CancelReason),
  pointsCredited: nameOf(PointsReason),
};

/** The shown name and the form of each field so far. */
const forms = new Map<string, readonly [name: string, show: Show]>();

function formOf(field: string): readonly [name: string, show: Show] {
  const known = forms.get(field);
  if (known !== undefined) return known;
  const [match, shownAs, show] = FORMS.find(([each]) => each.test(field)) ?? OTHER;
  const name = field.replace(match, shownAs);
  const form = [name[0]!.toLowerCase() + name.slice(1), show] as const;
  forms.set(field, form);
  return form;
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

export function viewObject(view: object, names: Names): JsonObject {
  const fields = Object.entries(view).map(([field, value]) => {
    const [name, show] = formOf(field);
    return [name, shown(value, show, names)] as const;
  });
  return Object.fromEntries(fields);
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

function senderText(command: Command): string {
  if ('operator' in command)
    return `operator ${JSON.stringify(command.operator)}, because ${JSON.stringify(command.reason)}`;
  if ('reference' in command) return `partner ${JSON.stringify(command.partner)}`;
  if ('userId' in command) return `u${command.userId}`;
  return command.kind === 'register'
    ? `sign-up of ${JSON.stringify(command.username)}`
    : 'the exchange';
}

/** The last command, with its sequence, time and sender. */
export function commandFields(engine: Engine, command: Command, atMs: number): JsonObject {
  const { sequence } = engine;
  return { sequence, atMs, sender: senderText(command), command: commandObject(command, engine) };
}

/** The last command's result: its code and details. */
export function answerOf(engine: Engine, command: Command): JsonObject {
  const { values } = engine.result;
  const code = CODES[values[ResultHead.code]!]!;
  const isBatch = command.kind === 'batch' && code === 'ok';
  const short =
    code === 'insufficient_balance' ? dollars : code === 'insufficient_shares' ? shares : null;
  return {
    code,
    // Whether the answer repeats an earlier command's, by idempotency key.
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
