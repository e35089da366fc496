/** Reads every user's balance, resting orders and list of trades when the load is over. */

import { Client } from '../../../bench/http/load/client.js';
import { MICRO_SCALE, scaledInteger } from '../../../gateway/json/decimal.js';
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
  trades: Map<string, ListedTrades>;
}

export async function readAll(port: number, traders: readonly Trader[]): Promise<Shown> {
  const shown: Shown = { accounts: [], trades: new Map() };
  const left = [...traders];
  const work = async () => {
    const reader = new Reader(new Client({ port }));
    for (let trader = left.pop(); trader !== undefined; trader = left.pop()) {
      shown.accounts.push(await reader.account(trader));
      shown.trades.set(trader.userId, await reader.trades(trader));
    }
    reader.client.close();
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, work));
  return shown;
}

class Reader {
  constructor(readonly client: Client) {}

  /** Balance and orders at one sequence. Asks again until both answers have the same one. */
  async account(trader: Trader): Promise<SeenAccount> {
    for (;;) {
      const balance = await this.get(trader, '/balance');
      const { orders, sequence } = await this.get(trader, '/orders?limit=200');
      if (sequence !== balance.sequence) continue;
      return {
        userId: trader.userNumber,
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
      for (const trade of trades) {
        listed.all.addShown(trade);
        if (trade.role === 'taker') listed.asTaker.addShown(trade);
      }
      cursor = nextCursor === null ? '' : `&cursor=${encodeURIComponent(nextCursor)}`;
    } while (cursor !== '');
    return listed;
  }

  private async get({ userId, options }: Trader, path: string) {
    const headers = { 'x-user-token': options.token };
    return (await this.client.mustAsk({ path: `/users/${userId}${path}`, headers })).json;
  }
}
