/** The keys: each does what a button does, and none works while text is being typed. */
import { cancelEvery, claimEvery, newestOrder } from './account/everything.js';
import { closeDialog, dialog, openAmend, openDialog } from './model/dialog.js';
import { asset, assets, remember } from './model/markets.js';
import { notice, tell } from './model/notice.js';
import { go, route } from './model/route.js';
import { isLimit, isOpen, outcome, side } from './model/ticket.js';
import { Dialog } from './parts/dialog.js';
import { closeTicket } from './ticket/answers.js';
import { takeBack } from './ticket/confirm.js';
import { sellAll } from './ticket/sell-all.js';

interface Key {
  key: string;
  does: string;
  run: () => void;
}

/** Once it is drawn. */
function focus(id: string): void {
  isOpen.value = true;
  document.getElementById(id)?.focus();
}

function choose(chosen: 'UP' | 'DOWN'): void {
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

const KEYS: readonly Key[] = [
  { key: 'u', does: 'UP, and to the amount', run: () => choose('UP') },
  { key: 'd', does: 'DOWN, and to the amount', run: () => choose('DOWN') },
  { key: 'b', does: 'Buy', run: () => setSide('BUY') },
  { key: 's', does: 'Sell', run: () => setSide('SELL') },
  {
    key: 'l',
    does: 'Limit order, and to the price',
    run: () => {
      isLimit.value = true;
      requestAnimationFrame(() => focus('price'));
    },
  },
  {
    key: 'm',
    does: 'Market order, and to the amount',
    run: () => {
      isLimit.value = false;
      focus('size');
    },
  },
  { key: 'a', does: 'The amount', run: () => focus('size') },
  {
    key: 'w',
    does: 'Sell all: into the ticket, Enter sends it',
    run: () => sellAll(outcome.peek()),
  },
  { key: 'e', does: 'Amend the newest open order', run: amendNewest },
  { key: 'x', does: 'Cancel all open orders', run: () => void tell(cancelEvery) },
  { key: 'c', does: 'Claim all winnings', run: () => void tell(claimEvery) },
  { key: ']', does: 'Next asset', run: () => step(1) },
  { key: '[', does: 'Previous asset', run: () => step(-1) },
  { key: 'g', does: 'To the market', run: () => go(`#/${asset.peek()}`) },
  { key: 'p', does: 'To past markets', run: () => go('#/past') },
  { key: 'k', does: 'To the leaderboard', run: () => go('#/leaderboard') },
  { key: 'o', does: 'To the account', run: () => go('#/account') },
  { key: 't', does: 'To the status of the exchange', run: () => go('#/status') },
  { key: '?', does: 'This list', run: () => openDialog('keys') },
];

function setSide(chosen: 'BUY' | 'SELL'): void {
  side.value = chosen;
}

function amendNewest(): void {
  const newest = newestOrder();
  if (newest === null) notice.value = 'There is no open order.';
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

export function Keys() {
  return (
    <Dialog title="Shortcuts">
      <dl class="keys">
        {KEYS.map(({ key, does }) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
        <div>
          <dt>
            <kbd>↑ ↓</kbd>
          </dt>
          <dd>In the price: 0.1¢ up or down, 1¢ with Shift</dd>
        </div>
        <div>
          <dt>
            <kbd>Esc</kbd>
          </dt>
          <dd>Take back the confirmation; leave a field</dd>
        </div>
      </dl>
      <button type="button" class="send neutral" onClick={closeDialog}>
        Close
      </button>
    </Dialog>
  );
}
