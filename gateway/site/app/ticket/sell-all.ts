/**
 * Fills the ticket with a sale of all shares that no resting order holds. It is sent like any other
 * order, with a forecast and a second click if those are on.
 */
import { batch } from '@preact/signals';
import { fromLots } from '../../../client/index.js';
import { held } from '../model/account.js';
import type { OutcomeName } from '../model/book.js';
import { asset } from '../model/markets.js';
import { notice } from '../model/notice.js';
import { go, route } from '../model/route.js';
import { isLimit, isOpen, outcome, side, size } from '../model/ticket.js';
import { fieldText } from '../parts/amount.js';
import { t } from '../words/words.js';
import { clear } from './send.js';

export function sellAll(of: OutcomeName): void {
  const { freeLots } = held.peek()[of];
  if (freeLots <= 0) {
    notice.value = t('You have no {0} left to sell, except what your open orders hold.', of);
    return;
  }
  batch(() => {
    clear();
    outcome.value = of;
    isOpen.value = true;
    side.value = 'SELL';
    isLimit.value = false;
    size.value = fieldText(fromLots(freeLots));
  });
  if (route.peek().view === 'market') focusSend();
  else {
    addEventListener('hashchange', focusSend, { once: true });
    go(`#/${asset.peek()}`);
  }
}

/** Runs after the ticket is drawn. */
function focusSend(): void {
  requestAnimationFrame(() => document.querySelector<HTMLElement>('#ticket .send')?.focus());
}
