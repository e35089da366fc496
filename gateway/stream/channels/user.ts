/**
 * `user`: the signed-in user's account, as taker and as maker. `account:<userId>`: the same for a
 * sub-account, readable by its parent.
 *
 * The snapshot contains balance, resting orders and positions. A delta contains the balance after
 * the command, the events in order (user-events.ts), and the current positions of each market where
 * positions changed (an empty list if none are left). A position's price, value and status are
 * current at the message's time.
 */
import { z } from 'zod';
import type { Engine } from '../../../engine/engine.js';
import { marketIdText } from '../../../engine/interface/notation.js';
import * as fields from '../../json/response-fields.js';
import { ListedOrder, orders, restingOrder } from '../../resources/account-history/views.js';
import { balance, openPositions, Positions, positionText } from '../../resources/accounts/views.js';
import { Channel, DATA } from './channel.js';
import { positionMarketAt, UserEvent, userEventText } from './user-events.js';

const account = {
  userId: fields.userId,
  balance: z.strictObject(fields.balanceFields).describe('The balance after the command'),
  positions: z
    .array(
      z.strictObject({
        marketId: fields.marketId,
        outcomes: Positions.shape.positions.describe(
          'The positions in the market; empty if there are none',
        ),
      }),
    )
    .describe('The positions'),
};

const accountData = {
  snapshot: z
    .strictObject({ ...account, orders: z.array(ListedOrder).describe('The resting orders') })
    .describe(DATA),
  delta: z
    .strictObject({
      ...account,
      events: z.array(UserEvent).describe('The account’s events, in order'),
    })
    .describe(DATA),
};

export const USER = {
  of: 'user',
  ...accountData,
  texts: ['The account: balance, orders, positions', 'What a command did to the account'],
  make: (engine: Engine, userId: number) => new UserChannel(engine, userId),
} as const;
export const ACCOUNT = {
  of: 'subAccount',
  ...accountData,
  texts: ['A sub-account: balance, orders, positions', 'What a command did to the sub-account'],
  make: (engine: Engine, userId: number) => new UserChannel(engine, userId, 'account'),
} as const;

class UserChannel extends Channel {
  private texts: string[] = [];
  private readonly markets = new Set<number>();

  constructor(
    engine: Engine,
    private readonly userId: number,
    kind: 'user' | 'account' = 'user',
  ) {
    super(engine, kind === 'user' ? kind : `account:u${userId}`, `${kind}:${userId}`);
  }

  addEvent(values: Float64Array, at: number): void {
    this.texts.push(userEventText(this.engine, this.userId, values, at));
    const marketAt = positionMarketAt(values[at]!);
    if (marketAt !== 0) this.markets.add(values[at + marketAt]!);
  }

  snapshotData(): string {
    const { engine, userId } = this;
    const resting = engine.orders(userId).map((order) => restingOrder(order));
    const { text: listed } = orders.entry.all(resting, engine);
    const markets = new Set(engine.positions(userId).map(({ marketId }) => marketId));
    return `{${this.accountText()},"orders":${listed},"positions":[${this.positionsText(markets)}]}`;
  }

  protected takeChanges(): string {
    const { texts, markets } = this;
    this.texts = [];
    const positions = this.positionsText(markets);
    markets.clear();
    return `{${this.accountText()},"events":[${texts.join(',')}],"positions":[${positions}]}`;
  }

  private accountText(): string {
    return `"userId":"u${this.userId}","balance":${balance.text(this.engine.account(this.userId)!, this.engine)}`;
  }

  private positionsText(marketIds: Iterable<number>): string {
    const { engine, userId } = this;
    return Array.from(marketIds, (marketId) => {
      const market = engine.market(marketId);
      const position = engine.position(userId, marketId);
      const outcomes = market === null || position === null ? [] : openPositions(position, market);
      const texts = outcomes.map((outcome) => positionText(engine, outcome, userId));
      return `{"marketId":"${marketIdText(engine, marketId)}","outcomes":[${texts.join(',')}]}`;
    }).join(',');
  }
}
