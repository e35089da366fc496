/** Sells all of a position that no resting order holds, at the best prices in the book. */
import { fromLots, toLots } from '../../../client/amounts.js';
import { sell } from '../../../client/index.js';
import type { Position } from '../../../client/types.js';
import { orders } from '../model/account.js';
import { api } from '../model/exchange.js';
import { receipt } from './send.js';

export async function sellAll({ marketId, outcome, shares }: Position): Promise<void> {
  const selling = orders
    .peek()
    .filter((each) => each.marketId === marketId && each.outcome === outcome)
    .filter((each) => each.side === 'SELL')
    .reduce((sum, each) => sum + each.lots, 0);
  const freeLots = toLots(shares) - selling;
  if (freeLots <= 0) throw new Error('All of these shares are held by your resting orders.');
  receipt.value = await sell(api, marketId, { outcome, shares: fromLots(freeLots) });
}
