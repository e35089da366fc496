/** Orders: buy, sell, cancel, amend, claim. All need a session. */
import { z } from 'zod';
import type { Command } from '../../../engine/interface/commands.js';
import { idNumber } from '../../../engine/interface/notation.js';
import { errorAnswer, invalidRequest } from '../../http/errors.js';
import type { RequestContext } from '../../http/request-context.js';
import { defineRoute, type Route } from '../../http/route.js';
import { EmptyBody, NoQuery, own } from '../../json/fields.js';
import type { FieldProblems } from '../../json/problems.js';
import { JsonScanner } from '../../json/scanner.js';
import { marketNumber } from '../find.js';
import { buyCommand, type OrderPlace, sellCommand } from './commands.js';
import * as examples from './examples.js';
import { OrderReader } from './order-reader.js';
import { amendReceipt, orderReceipt } from './order-receipt.js';
import {
  cancelAllReceipt,
  cancelEverywhereReceipt,
  cancelReceipt,
  claimReceipt,
} from './receipts.js';
import {
  AmendBody,
  BuyBody,
  missingOfBuy,
  missingOfSell,
  type Problem,
  readAmendment,
  readBuy,
  readSell,
  SellBody,
} from './requests.js';
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
const reader = new OrderReader(new JsonScanner());

/** Errors of every order, besides a lack of money or shares. */
const ORDER_ERRORS = [
  'client_order_id_reused',
  'market_not_found',
  'user_frozen',
  'market_not_active',
  'market_paused',
  'deadline_passed',
  'limit_reached',
  'insufficient_liquidity',
  'post_only_would_trade',
  'price_not_met',
] as const;

export const tradingRoutes: Route[] = [
  defineRoute({
    method: 'POST',
    path: '/markets/15m/:marketId/buy',
    access: 'session',
    summary: 'Buy shares of an outcome, at the market or with a limit',
    query: NoQuery,
    body: BuyBody,
    missing: missingOfBuy,
    idempotent: true,
    responses: { 200: BuyReceipt },
    errors: [...ORDER_ERRORS, 'insufficient_balance', 'amount_too_small'],
    example: examples.buy,
    readCommand(call, body, { userId }) {
      const { idempotencyKey } = call;
      const marketId = marketNumber(call.engine, call.parameter('marketId'));
      return marketId === 0 ? null : reader.buy(body, { userId, idempotencyKey, marketId });
    },
    handle(call) {
      const command = call.command ?? parsedCommand(call, readBuy, buyCommand);
      if (command !== null) call.execute(command, 200, orderReceipt);
    },
  }),

  defineRoute({
    method: 'POST',
    path: '/markets/15m/:marketId/sell',
    access: 'session',
    summary: 'Sell shares back before the market ends',
    query: NoQuery,
    body: SellBody,
    missing: missingOfSell,
    idempotent: true,
    responses: { 200: SellReceipt },
    errors: [...ORDER_ERRORS, 'insufficient_shares'],
    example: examples.sell,
    readCommand(call, body, { userId }) {
      const { idempotencyKey } = call;
      const marketId = marketNumber(call.engine, call.parameter('marketId'));
      return marketId === 0 ? null : reader.sell(body, { userId, idempotencyKey, marketId });
    },
    handle(call) {
      const command = call.command ?? parsedCommand(call, readSell, sellCommand);
      if (command !== null) call.execute(command, 200, orderReceipt);
    },
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
    handle(call) {
      const marketId = marketOf(call);
      if (marketId === null) return;
      const { userId, idempotencyKey } = call;
      call.execute({ kind: 'claim', userId, idempotencyKey, marketId }, 200, claimReceipt);
    },
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
    readCommand(call, body, { userId }) {
      const marketId = marketNumber(call.engine, call.parameter('marketId'));
      const orderId = idNumber('o', call.parameter('orderId'));
      if (body.length > 0 || marketId === 0 || orderId === 0) return null;
      return { kind: 'cancel', userId, idempotencyKey: call.idempotencyKey, marketId, orderId };
    },
    handle(call) {
      if (call.command !== null) {
        call.execute(call.command, 200, cancelReceipt);
        return;
      }
      const place = orderPlace(call);
      if (place === null) return;
      const { userId, idempotencyKey } = call;
      call.execute({ kind: 'cancel', userId, idempotencyKey, ...place }, 200, cancelReceipt);
    },
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
    ],
    example: examples.amend,
    handle(call) {
      const terms = parsedBody(call, readAmendment);
      if (terms === null) return;
      const place = orderPlace(call);
      if (place === null) return;
      const { userId, idempotencyKey } = call;
      call.execute(
        { kind: 'amend', userId, idempotencyKey, ...place, ...terms },
        200,
        amendReceipt,
      );
    },
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
    handle(call) {
      const marketId = marketOf(call);
      if (marketId === null) return;
      const { userId, idempotencyKey } = call;
      call.execute({ kind: 'cancelAll', userId, idempotencyKey, marketId }, 200, cancelAllReceipt);
    },
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
 * The command of a body that the schemas parsed; null if it is invalid or names no market, and the
 * client has been told.
 */
function parsedCommand<Fields, Order>(
  call: RequestContext<Fields, unknown>,
  read: (fields: Fields, problem: Problem) => Order,
  commandOf: (place: OrderPlace, order: Order) => Command,
): Command | null {
  const order = parsedBody(call, read);
  if (order === null) return null;
  const marketId = marketOf(call);
  if (marketId === null) return null;
  const { userId, idempotencyKey } = call;
  return commandOf({ userId, idempotencyKey, marketId }, order);
}

/** What a body that the schemas parsed says; null: it is invalid, and the client was told. */
function parsedBody<Fields, Terms>(
  call: RequestContext<Fields, unknown>,
  read: (fields: Fields, problem: Problem) => Terms,
): Terms | null {
  let problems: FieldProblems | null = null;
  const terms = read(call.body, (name, message) => {
    problems ??= {};
    problems[name] ??= message;
  });
  if (problems === null) return terms;
  call.refuse(invalidRequest(problems));
  return null;
}

/**
 * The market and the order in the path; null if there can be no such order, and the client has been
 * told. With an idempotency key an impossible id is 0, as of a market.
 */
function orderPlace(
  call: RequestContext<unknown, unknown>,
): { marketId: number; orderId: number } | null {
  const marketId = marketOf(call);
  if (marketId === null) return null;
  const orderId = idNumber('o', call.parameter('orderId'));
  if (orderId !== 0 || call.idempotencyKey !== null) return { marketId, orderId };
  const isMarket = call.engine.hasMarket(marketId);
  call.answerError(errorAnswer(isMarket ? 'order_not_found' : 'market_not_found'));
  return null;
}

/**
 * null if no market can have this id; the client has been told. With an idempotency key the id is 0
 * instead, which the engine does not find, so that the refusal is remembered.
 */
function marketOf(
  call: RequestContext<unknown, unknown>,
  name = call.parameter('marketId'),
): number | null {
  const marketId = marketNumber(call.engine, name);
  if (marketId !== 0 || call.idempotencyKey !== null) return marketId;
  call.answerError(errorAnswer('market_not_found'));
  return null;
}
