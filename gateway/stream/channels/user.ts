/**
 * `user`: everything about the signed-in user's account, as taker and as maker; and
 * `account:<userId>`, the same of a sub-account for its parent.
 *
 * The snapshot contains the balance, the resting orders and the positions; a delta the balance
 * after the command, the events in order (user-event-text.ts), and the current positions of each
 * market in which they changed (an empty list: none). The price, value and status of a position are
 * current as of the message.
 */
import type { Engine } from '../../../engine/engine.js';
import { marketIdText } from '../../../engine/interface/notation.js';
import { balanceText, openPositions, positionText } from '../../resources/accounts/views.js';
import { orderText } from '../../resources/orders/views.js';
import { Channel } from './channel.js';
import { positionMarketAt, userEventText } from './user-event-text.js';

export class UserChannel extends Channel {
  private texts: string[] = [];
  private readonly markets = new Set<number>();

  constructor(
    private readonly engine: Engine,
    private readonly userId: number,
    kind: 'user' | 'account' = 'user',
  ) {
    super(kind === 'user' ? kind : `account:u${userId}`, `${kind}:${userId}`, engine.sequence);
  }

  /** Adds the user's event that starts at `at`. */
  addEvent(values: Float64Array, at: number): void {
    this.texts.push(userEventText(this.engine, this.userId, values, at));
    const marketAt = positionMarketAt(values[at]!);
    if (marketAt !== 0) this.markets.add(values[at + marketAt]!);
  }

  snapshotData(): string {
    const { engine, userId } = this;
    const orders = engine.orders(userId).map((order) => orderText(engine, order));
    const markets = new Set(engine.positions(userId).map(({ marketId }) => marketId));
    return `{${this.accountText()},"orders":[${orders.join(',')}],"positions":[${this.positionsText(markets)}]}`;
  }

  protected takeChanges(): string {
    const { texts, markets } = this;
    this.texts = [];
    const positions = this.positionsText(markets);
    markets.clear();
    return `{${this.accountText()},"events":[${texts.join(',')}],"positions":[${positions}]}`;
  }

  private accountText(): string {
    return `"userId":"u${this.userId}","balance":${balanceText(this.engine.account(this.userId)!)}`;
  }

  private positionsText(marketIds: Iterable<number>): string {
    const { engine, userId } = this;
    return Array.from(marketIds, (marketId) => {
      const market = engine.market(marketId);
      const position = engine.position(userId, marketId);
      const outcomes = market === null || position === null ? [] : openPositions(position, market);
      const texts = outcomes.map((outcome) => positionText(engine, outcome));
      return `{"marketId":"${marketIdText(engine, marketId)}","outcomes":[${texts.join(',')}]}`;
    }).join(',');
  }
}
