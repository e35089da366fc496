/**
 * Both ways from the bytes of an order, a batch or an order entry to a command: the readers, which
 * accept what clients usually send, and JSON.parse, the check for duplicate keys and zod, which
 * accept everything valid.
 */
import type { Command } from '../../../../engine/interface/commands.js';
import type { Assets } from '../../../../engine/interface/notation.js';
import { inexactNumber } from '../../../../gateway/json/decimal.js';
import { colonCount, repeatedKey } from '../../../../gateway/json/repeated-key.js';
import {
  BatchBody,
  BatchReader,
  operationNamesAnotherUser,
  readOperations,
} from '../../../../gateway/resources/batch/requests.js';
import {
  AmendBody,
  BuyBody,
  Given,
  givenIn,
  OPERATIONS,
  SellBody,
} from '../../../../gateway/resources/orders/operations.js';
import { OperationReader } from '../../../../gateway/resources/orders/reader.js';
import { readJson, validateMessage } from '../../../../gateway/stream/message-reader.js';
import {
  isOrderEntry,
  namesAnotherUser,
  type OrderEntryMessage,
  type OrderRequest,
  OrderRequestReader,
  orderRequest,
} from '../../../../gateway/stream/orders/order-messages.js';

const USER = 12;
export const MARKET = 'btc-15m-1763700300';
const assets: Assets = {
  assetSymbol: (asset) => ['BTC', 'ETH'][asset]!,
  findAsset: (symbol) => ['BTC', 'ETH'].indexOf(symbol),
};
const place = { userId: USER, idempotencyKey: 'a-key', marketId: 7 };
const ORDER = 77;
const orders = new OperationReader();
const batches = new BatchReader();
const requests = new OrderRequestReader();

/** Schemas of single operations, and the order that their paths name. */
const SINGLE = {
  buy: { schema: BuyBody, orderId: undefined },
  sell: { schema: SellBody, orderId: undefined },
  amend: { schema: AmendBody, orderId: ORDER },
};
export type Kind = keyof typeof SINGLE | 'batch' | 'stream';

/** The reader's result; `null` if the schemas must decide. */
export function quick(kind: Kind, text: Buffer): Command | OrderRequest | null {
  const bytes = new Uint8Array(text);
  if (kind === 'stream') return requests.read(assets, bytes, USER);
  if (kind === 'batch') return batches.read(assets, bytes, USER, place.idempotencyKey);
  return orders.body(kind, bytes, assets, place, SINGLE[kind].orderId);
}

/** The schemas' result for a stream message, or `null` if they refuse it. */
function slowRequest(bytes: Buffer): OrderRequest | null {
  const received = readJson(new Uint8Array(bytes).buffer, false);
  const { json } = received;
  if (!isOrderEntry(json) || namesAnotherUser(json, `u${USER}`)) return null;
  const message = validateMessage(received);
  if ('status' in message) return null;
  const request = orderRequest(assets, USER, message as OrderEntryMessage);
  return 'status' in request ? null : request;
}

/** The result of admission and handlers, or `null` if they refuse the bytes. */
export function slow(kind: Kind, bytes: Buffer): Command | OrderRequest | null {
  if (kind === 'stream') return slowRequest(bytes);
  const text = new TextDecoder('utf-8', { fatal: false, ignoreBOM: true }).decode(bytes);
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof json !== 'object' || json === null) return null;
  const { userId } = json as { userId?: unknown };
  if (typeof userId === 'string' && userId !== `u${USER}`) return null;
  if (operationNamesAnotherUser(json, `u${USER}`)) return null;
  if (repeatedKey(json, text, colonCount(bytes)) !== null || inexactNumber(text) !== null)
    return null;
  let isValid = true;
  const problem = () => {
    isValid = false;
  };
  if (kind === 'batch') {
    const body = BatchBody.safeParse(json);
    if (!body.success) return null;
    const { operations, atomic = false } = body.data;
    const { commands, problems } = readOperations(assets, USER, operations);
    const { userId, idempotencyKey } = place;
    return problems === null
      ? { kind: 'batch', userId, idempotencyKey, operations: commands, atomic }
      : null;
  }
  const { schema, orderId } = SINGLE[kind];
  const body = schema.safeParse(json);
  if (!body.success) return null;
  const given = Object.assign(new Given(), { orderId });
  givenIn(OPERATIONS[kind], body.data, assets, problem, given);
  return isValid ? OPERATIONS[kind].command(place, given) : null;
}
