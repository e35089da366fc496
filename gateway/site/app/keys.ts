/** Keyboard shortcuts. Each does what a button does, and none works while the user types. */
import { cancelEvery, claimEvery, newestOrder } from './account/everything.js';
import { dialog, isMenuOpen, openAmend, openDialog } from './model/dialog.js';
import { asset, assets, remember } from './model/markets.js';
import { notice, tell } from './model/notice.js';
import { go, route } from './model/route.js';
import { kept } from './model/settings.js';
import { hasChosen, isLimit, isOpen, outcome, choose as write } from './model/ticket.js';
import { closeTicket } from './ticket/answers.js';
import { takeBack } from './ticket/confirm.js';
import { sellAll } from './ticket/sell-all.js';
import { t } from './words/words.js';

interface Key {
  key: string;
  does: string;
  run: () => void;
}

/** Opens the ticket, focuses a field and selects its text, so that typing replaces it. */
function focus(id: string): void {
  isOpen.value = true;
  document.querySelector<HTMLInputElement>(`#${id}`)?.select();
}

function choose(chosen: 'UP' | 'DOWN'): void {
  hasChosen.value = true;
  outcome.value = chosen;
  focus('size');
}

function step(by: number): void {
  const all = assets.peek();
  const next = all[(all.indexOf(asset.peek()) + by + all.length) % all.length];
  if (next === undefined) return;
  remember(next);
  go(`#/${next}`);
}

export const KEYS: readonly Key[] = [
  { key: 'u', does: t('Choose UP and go to the amount'), run: () => choose('UP') },
  { key: 'd', does: t('Choose DOWN and go to the amount'), run: () => choose('DOWN') },
  { key: 'b', does: t('Buy'), run: () => write({ side: 'BUY' }) },
  { key: 's', does: t('Sell'), run: () => write({ side: 'SELL' }) },
  {
    key: 'l',
    does: t('Limit order: go to the price'),
    run: () => {
      isLimit.value = true;
      requestAnimationFrame(() => focus('price'));
    },
  },
  {
    key: 'm',
    does: t('Market order: go to the amount'),
    run: () => {
      isLimit.value = false;
      focus('size');
    },
  },
  { key: 'a', does: t('Go to the amount'), run: () => focus('size') },
  {
    key: 'w',
    does: t('Prepare to sell all your shares; Enter sends the order'),
    run: () => sellAll(outcome.peek()),
  },
  { key: 'e', does: t('Amend the newest open order'), run: amendNewest },
  { key: 'x', does: t('Cancel all open orders'), run: cancelByKey },
  { key: 'c', does: t('Claim all winnings'), run: () => void tell(claimEvery) },
  { key: ']', does: t('Next asset'), run: () => step(1) },
  { key: '[', does: t('Previous asset'), run: () => step(-1) },
  { key: 'g', does: t('Go to the market'), run: () => go(`#/${asset.peek()}`) },
  { key: 'p', does: t('Go to past markets'), run: () => go('#/past') },
  { key: 'k', does: t('Go to the leaderboard'), run: () => go('#/leaderboard') },
  { key: 'o', does: t('Go to your portfolio'), run: () => go('#/account') },
  { key: 't', does: t('Go to the status'), run: () => go('#/status') },
  { key: '?', does: t('Show this list'), run: () => openDialog('keys') },
];

/** Whether the key x cancels all orders, without asking. */
export const cancelKey = kept<'on' | 'off'>('cancel-key', 'on', ['on', 'off']);

function cancelByKey(): void {
  if (cancelKey.peek() === 'on') void tell(cancelEvery);
  else notice.value = t('The x key is off. Press ? to turn it on.');
}

function amendNewest(): void {
  const newest = newestOrder();
  if (newest === null) notice.value = t('There are no open orders.');
  else openAmend(newest);
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return target.type !== 'checkbox';
  return target instanceof HTMLSelectElement || target.isContentEditable;
}

function onKeyDown(event: KeyboardEvent): void {
  if (event.key === 'Escape') {
    takeBack();
    isMenuOpen.value = false;
    if (dialog.peek() === null) closeTicket();
    if (isTyping(event.target) && dialog.peek() === null) (event.target as HTMLElement).blur();
  }
  const isCommand = event.ctrlKey || event.metaKey || event.altKey;
  if (isCommand || isTyping(event.target) || dialog.peek() !== null) return;
  const found = KEYS.find(({ key }) => key === event.key);
  if (found === undefined) return;
  const isOfTicket = ['u', 'd', 'b', 's', 'l', 'm', 'a', 'w'].includes(found.key);
  if (isOfTicket && route.peek().view !== 'market') return;
  event.preventDefault();
  notice.value = '';
  found.run();
}

export function startKeys(): void {
  addEventListener('keydown', onKeyDown);
}
