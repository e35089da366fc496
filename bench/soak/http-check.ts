/** Reads every user's balance, resting orders and list of trades when the load is over. */
import { MICRO_SCALE, scaledInteger } from '../../gateway/json/decimal.js';
import { ask, HttpConnection } from '../http/connection.js';
import { requestBytes } from '../http/messages.js';
import type { SeenAccount } from './journal-check.js';
import { TradeSum } from './record.js';
import type { Trader } from './trader.js';

const CONNECTIONS = 8;

export interface ListedTrades {
  all: TradeSum;
  asTaker: TradeSum;
}

export interface Shown {
  accounts: SeenAccount[];
  /** By user. */
  trades: Map<string, ListedTrades>;
}

export async function readAll(
  host: string,
  port: number,
  traders: readonly Trader[],
): Promise<Shown> {
  const shown: Shown = { accounts: [], trades: new Map() };
  const left = [...traders];
  const work = async () => {
    const reader = new Reader(host, port);
    for (let trader = left.pop(); trader !== undefined; trader = left.pop()) {
      shown.accounts.push(await reader.account(trader));
      shown.trades.set(trader.userId, await reader.trades(trader));
    }
    reader.close();
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, work));
  return shown;
}

class Reader {
  private readonly connection: HttpConnection;

  constructor(
    private readonly host: string,
    private readonly port: number,
  ) {
    this.connection = new HttpConnection(host, port);
  }

  close(): void {
    this.connection.hangUp();
  }

  /** Balance and orders at one sequence. Asks again until both answers have the same one. */
  async account(trader: Trader): Promise<SeenAccount> {
    for (;;) {
      const balance = await this.get(trader, '/balance');
      const { orders, sequence } = await this.get(trader, '/orders?limit=200');
      if (sequence !== balance.sequence) continue;
      return {
        userId: Number(trader.userId.slice(1)),
        sequence,
        availableMicros: scaledInteger(balance.available, MICRO_SCALE),
        heldMicros: scaledInteger(balance.held, MICRO_SCALE),
        orders: orders.length,
      };
    }
  }

  async trades(trader: Trader): Promise<ListedTrades> {
    const listed = { all: new TradeSum(), asTaker: new TradeSum() };
    let cursor = '';
    do {
      const { trades, nextCursor } = await this.get(trader, `/trades?limit=200${cursor}`);
      for (const { tradeId, orderId, shares, price, role } of trades) {
        const numbers = [Number(tradeId.slice(1)), Number(orderId.slice(1))] as const;
        const [lots, ticks] = [Math.round(shares * 1_000), Math.round(price * 1_000)];
        listed.all.add(...numbers, lots, ticks);
        if (role === 'taker') listed.asTaker.add(...numbers, lots, ticks);
      }
      cursor = nextCursor === null ? '' : `&cursor=${encodeURIComponent(nextCursor)}`;
    } while (cursor !== '');
    return listed;
  }

  // biome-ignore lint/suspicious/noExplicitAny: the caller knows the answer's shape
  private get({ userId, options }: Trader, path: string): Promise<any> {
    const headers = { 'x-user-token': options.token };
    const host = `${this.host}:${this.port}`;
    return ask(
      this.connection,
      requestBytes({ method: 'GET', path: `/api/users/${userId}${path}`, host, headers }),
      200,
    );
  }
}
