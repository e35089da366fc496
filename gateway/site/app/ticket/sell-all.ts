/**
 * Puts a sale of all shares that no resting order holds into the ticket, where it is sent as any
 * other order: with its forecast, and a second click if those are asked for.
 */
import { batch } from '@preact/signals';
import { fromLots } from '../../../client/amounts.js';
import { held } from '../model/account.js';
import type { OutcomeName } from '../model/book.js';
import { asset } from '../model/markets.js';
import { notice } from '../model/notice.js';
import { go, route } from '../model/route.js';
import { isLimit, isOpen, outcome, side, size } from '../model/ticket.js';
import { clear } from './send.js';

/** Of the market that is shown. */
export function sellAll(of: OutcomeName): void {
  const { freeLots } = held.peek()[of];
  if (freeLots <= 0) {
    notice.value = `No ${of} is left to sell, besides what your open orders hold.`;
    return;
  }
  batch(() => {
    clear();
    outcome.value = of;
    isOpen.value = true;
    side.value = 'SELL';
    isLimit.value = false;
    size.value = fromLots(freeLots);
  });
  if (route.peek().view === 'market') focusSend();
  else {
    addEventListener('hashchange', focusSend, { once: true });
    go(`#/${asset.peek()}`);
  }
}

/** Once it is drawn. */
function focusSend(): void {
  requestAnimationFrame(() => document.querySelector<HTMLElement>('#ticket .send')?.focus());
}
