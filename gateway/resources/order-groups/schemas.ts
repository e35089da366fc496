/** The bodies of requests and responses of order groups. */
import { z } from 'zod';
import { MAX_GROUP_WINDOW_MS, MIN_GROUP_WINDOW_MS } from '../../../engine/interface/parameters.js';
import { bodyObject, responseObject } from '../../json/components.js';
import * as request from '../../json/fields.js';
import {
  balance,
  count,
  groupId,
  orderId,
  shares,
  state,
  timeMs,
} from '../../json/response-fields.js';
import { MAX_ORDER_SHARES } from '../orders/fields.js';

const WINDOW = `must be a whole number from ${MIN_GROUP_WINDOW_MS} to ${MAX_GROUP_WINDOW_MS}`;

export const OrderGroupBody = bodyObject(
  'OrderGroupBody',
  'How much the orders of a group may fill',
  {
    ...request.own,
    maxFilledShares: request
      .shares({ max: MAX_ORDER_SHARES })
      .describe(
        'Shares, at most 3 decimal places: once the orders of the group have filled as many within a window, the rest of them is cancelled',
      ),
    windowMs: z
      .int(WINDOW)
      .min(MIN_GROUP_WINDOW_MS, WINDOW)
      .max(MAX_GROUP_WINDOW_MS, WINDOW)
      .describe('Milliseconds: how long a window is, which begins with the first fill in it'),
  },
);

const terms = {
  groupId,
  maxFilledShares: shares.describe(
    'Once its orders have filled as many shares within a window, it trips',
  ),
  windowMs: count.describe('The length of a window in milliseconds'),
};

/** What creating or resetting one has made: nothing is filled, and it has not tripped. */
export const OrderGroupTerms = responseObject(
  'OrderGroupTerms',
  'An order group that takes orders, and of which nothing is filled',
  { ...terms, ...state },
);

const OrderGroup = responseObject('OrderGroup', 'An order group', {
  ...terms,
  filledShares: shares.describe(
    'What its orders have filled in this window; if it has tripped, until it did',
  ),
  windowEndsAtMs: timeMs
    .nullable()
    .describe('When this window ends; null: the next fill begins one'),
  tripped: z
    .boolean()
    .describe('Whether its orders were cancelled, and it takes none until it is reset'),
  openOrders: count.describe('How many of its orders rest'),
});
export const OrderGroups = responseObject('OrderGroups', 'The order groups of a user', {
  orderGroups: z.array(OrderGroup).describe('The groups, oldest first'),
  ...state,
});

export const RemovedOrderGroup = responseObject(
  'RemovedOrderGroup',
  'An order group that was removed',
  {
    groupId,
    cancelled: z
      .array(orderId)
      .describe('The ids of its orders that rested, in the order of resting'),
    balance,
    ...state,
  },
);
