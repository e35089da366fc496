/**
 * Unread results: what won, what the user had, and the profit or loss; on the page and, if the user
 * wants, as the browser's notifications.
 */
import { effect } from '@preact/signals';
import { user } from '../model/session.js';
import { kept } from '../model/settings.js';
import { dollars, gain, shares, slotName } from '../parts/format.js';
import { markRead, type Settlement, unread } from './settlements.js';

/** Whether the browser notifies of results while the page is in the background. */
export const notifies = kept<'on' | 'off'>('notify', 'off', ['on', 'off']);

const ownUnread = () => unread.value.filter(({ userId }) => userId === user.value?.userId);

let known = new Set(unread.peek().map(({ marketId }) => marketId));
effect(() => {
  const added = ownUnread().filter(({ marketId }) => !known.has(marketId));
  known = new Set(unread.value.map(({ marketId }) => marketId));
  // A visible page shows its results itself.
  if (notifies.peek() === 'off' || !document.hidden) return;
  // Tabs of one browser replace each other's notification by its tag.
  for (const each of added) new Notification(sentence(each), { tag: each.marketId });
});

export function Results() {
  const own = ownUnread();
  const newest = own.at(-1);
  const more = own.length - 1;
  if (newest === undefined) return null;
  // Show only one: more would cover the page.
  return (
    <>
      <p key={newest.marketId}>
        <span>
          {sentence(newest)} <a href={`#/market/${newest.marketId}`}>See result</a>
        </span>
        <button type="button" class="plain" onClick={() => markRead([newest])}>
          Dismiss
        </button>
      </p>
      {more > 0 && (
        <p>
          {`${more} more ${more === 1 ? 'result' : 'results'}.`}
          <button type="button" class="plain" onClick={() => markRead(own)}>
            Dismiss all
          </button>
        </p>
      )}
    </>
  );
}

/** What was decided, what the user had, and what it brought. */
function sentence({ marketId, resolution, voidReason, sums }: Settlement): string {
  const why = voidReason ? `, declared by an operator: ${voidReason}` : '';
  const result = `${slotName(marketId)}: ${resolution === 'VOID' ? `void${why}` : `${resolution} won`}.`;
  if (sums === null) return `${result} You traded too often in it to add up your result here.`;
  const { lots, payoutMicros, profitMicros } = sums;
  const had = (['UP', 'DOWN'] as const)
    .filter((each) => lots[each] > 0)
    .map((each) => `${shares(lots[each])} ${each}`)
    .join(' and ');
  const pays = payoutMicros === 0 ? 'nothing' : dollars(payoutMicros);
  const sum = `${profitMicros < 0 ? 'Loss' : 'Profit'}: ${gain(profitMicros)}.`;
  // A VOID market refunds its fees, even without shares.
  const owned = had === '' ? 'Its fees come back' : `You had ${had}`;
  return `${result} ${owned}, which pays ${pays}. ${sum}`;
}
