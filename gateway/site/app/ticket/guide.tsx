/**
 * A new user's first trade in three steps, each shown when its field is next: what to choose, what
 * it costs, and what is sent. Ends with the first trade, or when the user skips it.
 */
import { effect } from '@preact/signals';
import { best } from '../model/book.js';
import { market } from '../model/markets.js';
import { fees, hasChosen, isGuided, order, outcome, size } from '../model/ticket.js';
import { cents, dollars } from '../parts/format.js';
import { t } from '../words/words.js';
import { receipt } from './send.js';

effect(() => {
  if (receipt.value !== null && receipt.value.shares > 0) isGuided.value = 'no';
});

export function Guide() {
  const step = size.value !== '' ? 3 : hasChosen.value ? 2 : 1;
  return (
    <section class="guide" aria-label={t('Your first trade')}>
      <p class="field-head">
        <strong>{t('Your first trade, step {0} of 3', step)}</strong>
        <button
          type="button"
          class="link"
          onClick={() => {
            isGuided.value = 'no';
          }}
        >
          {t('Skip')}
        </button>
      </p>
      <p role="status">{[chooseText, amountText, buyText][step - 1]!()}</p>
    </section>
  );
}

function chooseText(): string {
  const name = market.value?.asset ?? t('the price');
  const rule = t(
    'Choose UP if you think {0} will end at or above the price to beat, else DOWN. A share pays $1.00 if it wins.',
    name,
  );
  const [bid, ask] = [best.UP.bid.value, best.UP.ask.value];
  if (bid === null || ask === null) return rule;
  return t(
    '{0} UP costs {1}, and sells for {2}: the difference is the spread, which you lose if you sell immediately.',
    rule,
    cents(ask),
    cents(bid),
  );
}

function amountText(): string {
  const { flat, curve } = fees.value;
  if (curve > 0)
    return t('Enter how much to spend. The fee comes on top. You can lose this, and no more.');
  return t(
    'Enter how much to spend. The fee comes on top: {0} on {1}. You can lose this, and no more.',
    dollars(flat * 1_000),
    dollars(10_000_000),
  );
}

function buyText(): string {
  const limit = order.value?.limitTicks ?? null;
  const most = limit === null ? '' : t(' You pay at most {0} a share, or buy less.', cents(limit));
  return t(
    'Below is what you get if {0} wins.{1} Press Buy, then Confirm. You can sell before the end, if there are bids.',
    outcome.value,
    most,
  );
}
