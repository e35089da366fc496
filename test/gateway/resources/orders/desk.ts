/** Shared by the tests of orders: an exchange with traders, and short requests. */
import type { Config } from '../../../../gateway/start/config.js';
import { type Answer, MARKET, TestServer, type Trader } from '../../../support/server.js';

export const PLACES = `/markets/15m/${MARKET}`;
/** A resting bid: 10 UP at 0.40, which holds 4 dollars. */
export const RESTING = { outcome: 'UP', shares: 10, price: 0.4, timeInForce: 'GTC' };

export class Desk {
  private constructor(public server: TestServer) {}

  static async open(config: Partial<Config> = {}): Promise<Desk> {
    return new Desk(await TestServer.withMarket(config));
  }

  register(username: string): Promise<Trader> {
    return this.server.register(username);
  }

  buy({ token }: Trader, body: object): Promise<Answer> {
    return this.server.api.post(`${PLACES}/buy`, body, token);
  }

  cancel({ token }: Trader, orderId: string): Promise<Answer> {
    return this.server.api.delete(`${PLACES}/orders/${orderId}`, token);
  }

  amend({ token }: Trader, orderId: string, body: object): Promise<Answer> {
    return this.server.api.send('PATCH', `${PLACES}/orders/${orderId}`, body, { token });
  }

  batch({ token }: Trader, operations: object[], atomic = false): Promise<Answer> {
    return this.server.api.post('/batch', { operations, atomic }, token);
  }

  async orders({ userId, token }: Trader): Promise<Answer['json'][]> {
    return (await this.server.api.get(`/users/${userId}/orders`, token)).json.orders;
  }
}
