/**
 * Unread results: what won, what the user had, and the profit or loss. Shown on the page and, if
 * the user wants, as the browser's notifications.
 */
import { effect } from '@preact/signals';
import { claimOne } from '../account/everything.js';
import { claimable } from '../model/account.js';
import { notice, tell } from '../model/notice.js';
import { user } from '../model/session.js';
import { kept } from '../model/settings.js';
import { Action, copy } from '../parts/action.js';
import { dollars, gain, shares, slotName } from '../parts/format.js';
import { Figure, Gain, Money, Outcome } from '../parts/panel.js';
import { mixed, t } from '../words/words.js';
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

/** Always present for a user, so that screen readers announce new contents. */
export function Results() {
  if (user.value === null) return null;
  const own = ownUnread();
  const newest = own.at(-1);
  const more = own.length - 1;
  // Shows only one result, because more would push the page down.
  return (
    <div class="results" role="status">
      {newest !== undefined && <Card key={newest.marketId} of={newest} />}
      {more > 0 && (
        <p class="soft">
          {more === 1 ? t('1 more result.') : t('{0} more results.', more)}{' '}
          <button type="button" class="link" onClick={() => markRead(own)}>
            {t('Dismiss all')}
          </button>
        </p>
      )}
    </div>
  );
}

function Card({ of }: { of: Settlement }) {
  const { marketId, resolution, voidReason, sums } = of;
  const isClaimable = claimable.value.some((each) => each.marketId === marketId);
  const profit = sums?.profitMicros ?? 0;
  const kind = profit === 0 ? '' : profit < 0 ? 'loss' : 'win';
  return (
    <section class={`panel result ${kind}`} aria-label={slotName(marketId)}>
      <header class="panel-head">
        <span class="figure-value">
          {slotName(marketId)}: <Outcome of={resolution} /> {resolution !== 'VOID' && t('won')}
        </span>
        <button
          type="button"
          class="plain"
          aria-label={t('Dismiss')}
          onClick={() => markRead([of])}
        >
          ×
        </button>
      </header>
      {voidReason && <p class="panel-body">{mixed('Declared by an operator: {0}', voidReason)}</p>}
      {sums === null ? (
        <p class="panel-body">{MANY}</p>
      ) : (
        <dl class="figures panel-body">
          <Figure label={t('You had')} value={hadText(sums)} />
          <Figure
            label={isClaimable || sums.payoutMicros === 0 ? t('You get') : t('Paid to you')}
            value={<Money micros={sums.payoutMicros} />}
          />
          <Figure label={t('Profit, fees included')} value={<Gain micros={sums.profitMicros} />} />
        </dl>
      )}
      <p class="panel-body actions">
        {isClaimable && (
          <Action class="plain strong" run={() => tell(() => claimOne(marketId))}>
            {t('Claim')}
          </Action>
        )}
        <Action isLocal={true} run={() => share(of)}>
          {t('Share')}
        </Action>
        <a href={`#/market/${marketId}`}>{t('See result')}</a>
      </p>
    </section>
  );
}

const MANY = t('You made too many trades in this market to show your result here.');

function hadText({ lots }: NonNullable<Settlement['sums']>): string {
  const had = (['UP', 'DOWN'] as const).filter((each) => lots[each] > 0);
  return had.map((each) => `${shares(lots[each])} ${each}`).join(t(' and ')) || t('No shares');
}

/** Shares the public result, with the device's own dialog if there is one. */
async function share({ marketId, resolution }: Settlement): Promise<void> {
  const url = `${location.origin}/api/markets/${marketId}/card`;
  const title = titleOf(marketId, resolution);
  // A user who closes the dialog has shared nothing.
  if (navigator.share !== undefined) await navigator.share({ title, url }).catch(() => {});
  else notice.value = await copy(url, t('Link copied.'));
}

function titleOf(marketId: string, resolution: Settlement['resolution']): string {
  return `${slotName(marketId)}: ${resolution === 'VOID' ? t('void') : t('{0} won', resolution)}`;
}

function sentence({ marketId, resolution, voidReason, sums }: Settlement): string {
  const why = voidReason ? t(', declared by an operator: {0}', voidReason) : '';
  const result = `${titleOf(marketId, resolution)}${why}.`;
  if (sums === null) return `${result} ${MANY}`;
  const { payoutMicros, profitMicros } = sums;
  return t(
    '{0} You had: {1}. You get {2}. Profit: {3}.',
    result,
    hadText(sums),
    dollars(payoutMicros),
    gain(profitMicros),
  );
}
