/** Routes of orders, complete sets and claims. All require a session. */
import { z } from 'zod';
import { idNumber } from '../../../engine/interface/notation.js';
import { invalidRequest, ORDER_ERRORS, SETS_ERRORS } from '../../commands/errors.js';
import type { Call } from '../../http/call.js';
import type { CommandContext } from '../../http/request.js';
import { defineRoute, type Route } from '../../http/route.js';
import { executeFor } from '../../http/submission.js';
import { CLIENT_ID, EmptyBody, NO_CLIENT_ID, ownQuery } from '../../json/fields.js';
import { Problems } from '../../json/problems.js';
import { marketNumber } from '../last-market.js';
import {
  AmendBody,
  BuyBody,
  Given,
  givenIn,
  hasOrder,
  MergeBody,
  OPERATIONS,
  type OperationName,
  type Place,
  SellBody,
  type Sent,
  SplitBody,
} from './operations.js';
import { OperationReader } from './reader.js';
import { RECEIPTS } from './receipts.js';
import * as schemas from './schemas.js';

const CancelQuery = ownQuery({
  marketId: z.string().optional().describe('Only orders in this market'),
});

const NamedOrderQuery = ownQuery({
  clientOrderId: z.string().regex(CLIENT_ID, NO_CLIENT_ID).describe('Your own name for the order'),
});

const CANCEL_ERRORS = [
  'market_not_found',
  'market_not_active',
  'order_not_found',
  'order_closed',
  'history_unavailable',
] as const;
const AMEND_ERRORS = [
  ...CANCEL_ERRORS,
  'market_paused',
  'limit_reached',
  'insufficient_balance',
  'insufficient_shares',
  'post_only_would_trade',
  'too_small_to_rest',
] as const;

const CHANGE = { access: 'session', idempotent: true } as const;
const reader = new OperationReader();

export const tradingRoutes: Route[] = [
  defineRoute('POST', '/markets/15m/:marketId/buy', {
    summary: 'Buy shares of an outcome, at the market or with a limit',
    body: BuyBody,
    responses: { 200: schemas.BuyReceipt },
    errors: [...ORDER_ERRORS, 'insufficient_balance', 'amount_too_small'],
    missing: OPERATIONS.buy.missing!,
    ...single('buy'),
  }),

  defineRoute('POST', '/markets/15m/:marketId/sell', {
    summary: 'Sell shares before the market ends',
    body: SellBody,
    responses: { 200: schemas.SellReceipt },
    errors: [...ORDER_ERRORS, 'insufficient_shares'],
    missing: OPERATIONS.sell.missing!,
    ...single('sell'),
  }),

  defineRoute('POST', '/markets/15m/:marketId/split', {
    summary:
      'Turn dollars into complete sets: one UP and one DOWN share for a dollar, plus the fee',
    body: SplitBody,
    responses: { 200: schemas.SplitReceipt },
    errors: [...SETS_ERRORS, 'limit_reached', 'insufficient_balance'],
    ...single('split'),
  }),

  defineRoute('POST', '/markets/15m/:marketId/merge', {
    summary:
      'Turn complete sets into dollars: a dollar for one UP and one DOWN share, without a fee',
    body: MergeBody,
    responses: { 200: schemas.MergeReceipt },
    errors: [...SETS_ERRORS, 'insufficient_shares'],
    ...single('merge'),
  }),

  defineRoute('POST', '/markets/15m/:marketId/claim', {
    summary: 'Claim the winnings in a resolved market',
    body: EmptyBody,
    responses: { 200: schemas.ClaimReceipt },
    errors: [
      'market_not_found',
      'market_not_resolved',
      'nothing_to_claim',
      'already_paid',
      'history_unavailable',
    ],
    ...single('claim'),
  }),

  defineRoute('DELETE', '/markets/15m/:marketId/orders/:orderId', {
    quota: 'cancels',
    summary: 'Cancel a resting order',
    body: EmptyBody,
    responses: { 200: schemas.CancelReceipt },
    errors: CANCEL_ERRORS,
    ...single('cancel'),
  }),

  defineRoute('PATCH', '/markets/15m/:marketId/orders/:orderId', {
    summary: 'Change the size or the price of a resting order',
    body: AmendBody,
    responses: { 200: schemas.AmendReceipt },
    errors: AMEND_ERRORS,
    ...single('amend'),
  }),

  defineRoute('DELETE', '/markets/15m/:marketId/orders/by-client-id', {
    quota: 'cancels',
    summary: 'Cancel the resting order with a clientOrderId',
    query: NamedOrderQuery,
    body: EmptyBody,
    responses: { 200: schemas.CancelReceipt },
    errors: CANCEL_ERRORS,
    ...named('cancel'),
  }),

  defineRoute('PATCH', '/markets/15m/:marketId/orders/by-client-id', {
    summary: 'Change the size or the price of the resting order with a clientOrderId',
    query: NamedOrderQuery,
    body: AmendBody,
    responses: { 200: schemas.AmendReceipt },
    errors: AMEND_ERRORS,
    ...named('amend'),
  }),

  defineRoute('DELETE', '/markets/15m/:marketId/orders', {
    quota: 'cancels',
    summary: 'Cancel all your resting orders in a market',
    body: EmptyBody,
    responses: { 200: schemas.CancelAllReceipt },
    errors: ['market_not_found', 'market_not_active', 'history_unavailable'],
    ...single('cancelAll'),
  }),

  defineRoute('DELETE', '/users/:id/orders', {
    quota: 'cancels',
    access: 'session',
    summary: 'Cancel all your resting orders, in all markets or in one',
    query: CancelQuery,
    body: EmptyBody,
    idempotent: true,
    responses: { 200: schemas.CancelOrdersReceipt },
    errors: ['market_not_found', 'market_not_active', 'history_unavailable'],
    handle(call) {
      const { userId, idempotencyKey } = call;
      const name = call.query.marketId;
      if (name === undefined) {
        const command = { kind: 'cancelEverywhere', userId, idempotencyKey } as const;
        executeFor(call, command, 200, RECEIPTS.cancelEverywhere);
        return;
      }
      const marketId = marketNumber(call.engine, name);
      executeFor(
        call,
        { kind: 'cancelAll', userId, idempotencyKey, marketId },
        200,
        RECEIPTS.cancelAll,
      );
    },
  }),
];

/** An impossible market id becomes 0. */
function placeOf({ assets, userId, idempotencyKey, request }: CommandContext): Place {
  const marketId = marketNumber(assets, request.parameter('marketId'));
  return { userId, idempotencyKey, marketId };
}

/** `order` names the order, if any; the engine refuses an id of 0. */
function execute(call: Call, name: OperationName, order: Partial<Given>): void {
  const operation = OPERATIONS[name];
  const place = placeOf(call);
  const named = Object.assign(new Given(), { marketId: place.marketId, ...order });
  const problems = new Problems();
  const given = givenIn(operation, call.body as Sent, call.engine, problems.add, named);
  if (problems.found !== null) {
    call.refuseNow(invalidRequest(problems.found));
    return;
  }
  executeFor(call, operation.command(place, given), 200, RECEIPTS[name]);
}

/** The path names the order, if any. */
function single(name: OperationName) {
  const orderOf = ({ request }: CommandContext) =>
    hasOrder(OPERATIONS[name]) ? idNumber('o', request.parameter('orderId')) : undefined;
  return {
    ...CHANGE,
    command: {
      kind: name,
      receipt: RECEIPTS[name],
      read(context: CommandContext, body: Uint8Array) {
        return reader.body(name, body, context.assets, placeOf(context), orderOf(context));
      },
    },
    handle(call: Call) {
      execute(call, name, { orderId: orderOf(call) });
    },
  };
}

/** The query names the order by clientOrderId. */
function named(name: OperationName) {
  return {
    ...CHANGE,
    handle(call: Call<unknown, z.output<typeof NamedOrderQuery>>) {
      execute(call, name, { clientOrderId: call.query.clientOrderId });
    },
  };
}
