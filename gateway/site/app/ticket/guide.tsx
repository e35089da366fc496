/**
 * A new user's first trade in three steps, each shown when its field is next: what to choose, what
 * it costs, and what is sent. Ends with the first trade, or when the user skips it.
 */
import { effect } from '@preact/signals';
import { best } from '../model/book.js';
import { market } from '../model/markets.js';
import { fees, hasChosen, isGuided, order, outcome, size } from '../model/ticket.js';
import { cents, dollars } from '../parts/format.js';
import { receipt } from './send.js';

effect(() => {
  if (receipt.value !== null && receipt.value.shares > 0) isGuided.value = 'no';
});

export function Guide() {
  const step = size.value !== '' ? 3 : hasChosen.value ? 2 : 1;
  return (
    <section class="guide" aria-label="Your first trade">
      <p class="field-head">
        <strong>Your first trade, step {step} of 3</strong>
        <button
          type="button"
          class="link"
          onClick={() => {
            isGuided.value = 'no';
          }}
        >
          Skip
        </button>
      </p>
      <p role="status">{[chooseText, amountText, buyText][step - 1]!()}</p>
    </section>
  );
}

/** Mentions the spread, if there is one. */
function chooseText(): string {
  const name = market.value?.asset ?? 'the price';
  const rule = `Choose UP if you think ${name} will end at or above the price to beat, else DOWN. A share pays $1.00 if it wins.`;
  const [bid, ask] = [best.UP.bid.value, best.UP.ask.value];
  if (bid === null || ask === null) return rule;
  return `${rule} UP costs ${cents(ask)}, and sells for ${cents(bid)}: the difference is the spread, which you lose if you sell at once.`;
}

function amountText(): string {
  const { flat, curve } = fees.value;
  const fee =
    curve > 0
      ? 'The fee comes on top.'
      : `The fee of ${flat / 100}% comes on top: ${dollars(flat * 1_000)} on $10.00.`;
  return `Enter how much to spend. ${fee} You can lose this, and no more.`;
}

function buyText(): string {
  const limit = order.value?.limitTicks ?? null;
  const most = limit === null ? '' : ` You pay at most ${cents(limit)} a share, or buy less.`;
  return `Below is what you get if ${outcome.value} wins.${most} Press Buy, then Confirm. You can sell before the end, if there are bids.`;
}
