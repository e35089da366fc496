/** Orders: buy, sell, cancel, amend, claim. All need a session. */
import { z } from 'zod';
import { idNumber } from '../../../engine/interface/notation.js';
import type { ReceiptWriter } from '../../commands/receipt.js';
import type { Asking } from '../../http/asking.js';
import type { Call } from '../../http/call.js';
import { errorAnswer, invalidRequest, ORDER_ERRORS } from '../../http/errors.js';
import { defineRoute, type Route } from '../../http/route.js';
import { EmptyBody, NoQuery, own } from '../../json/fields.js';
import { Problems } from '../../json/problems.js';
import { marketNumber } from '../find.js';
import * as examples from './examples.js';
import {
  AmendBody,
  BuyBody,
  Given,
  givenIn,
  OPERATIONS,
  type OperationName,
  SellBody,
  type Sent,
} from './operations.js';
import { amendReceipt, orderReceipt } from './order-receipt.js';
import { OperationReader } from './reader.js';
import {
  cancelAllReceipt,
  cancelEverywhereReceipt,
  cancelReceipt,
  claimReceipt,
} from './receipts.js';
import {
  AmendReceipt,
  BuyReceipt,
  CancelAllReceipt,
  CancelOrdersReceipt,
  CancelReceipt,
  ClaimReceipt,
  SellReceipt,
} from './schemas.js';

/** Only one market's orders. */
const CancelQuery = z.strictObject({
  ...own,
  marketId: z.string().optional().meta({ description: 'Only the orders in this market' }),
});

const reader = new OperationReader();

export const tradingRoutes: Route[] = [
  defineRoute({
    method: 'POST',
    path: '/markets/15m/:marketId/buy',
    access: 'session',
    summary: 'Buy shares of an outcome, at the market or with a limit',
    query: NoQuery,
    body: BuyBody,
    idempotent: true,
    responses: { 200: BuyReceipt },
    errors: [...ORDER_ERRORS, 'insufficient_balance', 'amount_too_small'],
    example: examples.buy,
    missing: OPERATIONS.buy.missing,
    ...single('buy', orderReceipt),
  }),

  defineRoute({
    method: 'POST',
    path: '/markets/15m/:marketId/sell',
    access: 'session',
    summary: 'Sell shares back before the market ends',
    query: NoQuery,
    body: SellBody,
    idempotent: true,
    responses: { 200: SellReceipt },
    errors: [...ORDER_ERRORS, 'insufficient_shares'],
    example: examples.sell,
    missing: OPERATIONS.sell.missing,
    ...single('sell', orderReceipt),
  }),

  defineRoute({
    method: 'POST',
    path: '/markets/15m/:marketId/claim',
    access: 'session',
    summary: 'Claim the winnings in a resolved market',
    query: NoQuery,
    body: EmptyBody,
    idempotent: true,
    responses: { 200: ClaimReceipt },
    errors: ['market_not_found', 'market_not_resolved', 'nothing_to_claim'],
    example: examples.claim,
    ...single('claim', claimReceipt),
  }),

  defineRoute({
    method: 'DELETE',
    path: '/markets/15m/:marketId/orders/:orderId',
    quota: 'cancels',
    access: 'session',
    summary: 'Cancel a resting order',
    query: NoQuery,
    body: EmptyBody,
    idempotent: true,
    responses: { 200: CancelReceipt },
    errors: ['market_not_found', 'order_not_found', 'order_closed'],
    example: examples.cancel,
    ...single('cancel', cancelReceipt),
  }),

  defineRoute({
    method: 'PATCH',
    path: '/markets/15m/:marketId/orders/:orderId',
    access: 'session',
    summary: 'Change the size or the price of a resting order',
    body: AmendBody,
    idempotent: true,
    responses: { 200: AmendReceipt },
    errors: [
      'market_not_found',
      'order_not_found',
      'order_closed',
      'market_paused',
      'limit_reached',
      'insufficient_balance',
      'insufficient_shares',
      'post_only_would_trade',
      'too_small_to_rest',
    ],
    example: examples.amend,
    ...single('amend', amendReceipt),
  }),

  defineRoute({
    method: 'DELETE',
    path: '/markets/15m/:marketId/orders',
    quota: 'cancels',
    access: 'session',
    summary: 'Cancel all your resting orders in a market',
    query: NoQuery,
    body: EmptyBody,
    idempotent: true,
    responses: { 200: CancelAllReceipt },
    errors: ['market_not_found'],
    example: examples.cancelAll,
    ...single('cancelAll', cancelAllReceipt),
  }),

  defineRoute({
    method: 'DELETE',
    path: '/users/:id/orders',
    quota: 'cancels',
    access: 'session',
    summary: 'Cancel all your resting orders, in all markets or in one',
    userParameter: 'id',
    query: CancelQuery,
    body: EmptyBody,
    idempotent: true,
    responses: { 200: CancelOrdersReceipt },
    errors: ['market_not_found'],
    example: examples.cancelEverywhere,
    handle(call) {
      const { userId, idempotencyKey } = call;
      const name = call.query.marketId;
      if (name === undefined) {
        const command = { kind: 'cancelEverywhere', userId, idempotencyKey } as const;
        call.execute(command, 200, cancelEverywhereReceipt);
        return;
      }
      const marketId = marketOf(call, name);
      if (marketId === null) return;
      call.execute({ kind: 'cancelAll', userId, idempotencyKey, marketId }, 200, cancelAllReceipt);
    },
  }),
];

/**
 * Reads and executes the operation of a route. The path names its market, and its order if it has
 * one. An id that there cannot be is 0, which the engine does not find.
 */
function single(name: OperationName, receipt: ReceiptWriter<string | Uint8Array>) {
  const operation = OPERATIONS[name];
  const hasOrder = 'orderId' in operation.fields;
  const placeOf = ({ assets, userId, idempotencyKey, request }: Asking) => {
    const marketId = marketNumber(assets, request.parameter('marketId'));
    return { userId, idempotencyKey, marketId };
  };
  const orderOf = ({ request }: Asking) =>
    hasOrder ? idNumber('o', request.parameter('orderId')) : undefined;

  /** The command of a body that the schema has taken; null: it was refused. */
  function parsed(call: Call) {
    const { engine } = call;
    const place = placeOf(call);
    const { marketId } = place;
    const orderId = orderOf(call);
    const path = Object.assign(new Given(), { marketId, orderId });
    const problems = new Problems();
    const given = givenIn(operation, call.body as Sent, engine, problems.add, path);
    if (problems.found !== null) {
      call.refuseNow(invalidRequest(problems.found));
      return null;
    }
    // With an idempotency key the engine refuses it, so that the refusal is remembered.
    if ((marketId === 0 || orderId === 0) && place.idempotencyKey === null) {
      const isOrder = engine.hasMarket(marketId);
      call.refuseWhenDurable(errorAnswer(isOrder ? 'order_not_found' : 'market_not_found'));
      return null;
    }
    return operation.command(place, given);
  }

  return {
    command: {
      kind: name,
      receipt,
      read(asking: Asking, body: Uint8Array) {
        const place = placeOf(asking);
        const orderId = orderOf(asking);
        if (place.marketId === 0 || orderId === 0) return null;
        return reader.body(name, body, asking.assets, place, orderId);
      },
    },
    handle(call: Call) {
      const command = call.command ?? parsed(call);
      if (command !== null) call.execute(command, 200, receipt);
    },
  };
}

/**
 * null if no market can have this id; the client has been told. With an idempotency key the id is 0
 * instead.
 */
function marketOf(call: Call, name: string): number | null {
  const marketId = marketNumber(call.engine, name);
  if (marketId !== 0 || call.idempotencyKey !== null) return marketId;
  call.refuseWhenDurable(errorAnswer('market_not_found'));
  return null;
}
