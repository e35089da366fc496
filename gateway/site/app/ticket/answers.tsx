/**
 * On a phone, the two answers stay at the bottom of the page, and each opens the ticket over it. On
 * wider screens, the ticket is beside the chart and has these buttons itself.
 */
import { batch } from '@preact/signals';
import { chances } from '../chart/odds.js';
import { best, type OutcomeName } from '../model/book.js';
import { market } from '../model/markets.js';
import { choose, hasChosen, isOpen, outcome } from '../model/ticket.js';
import { cents } from '../parts/format.js';
import { Sign } from '../parts/panel.js';
import { t } from '../words/words.js';
import { clear } from './send.js';

let opener: HTMLElement | null = null;

function open(of: OutcomeName, button: HTMLElement): void {
  opener = button;
  batch(() => {
    clear();
    hasChosen.value = true;
    choose({ side: 'BUY' });
    outcome.value = of;
    isOpen.value = true;
  });
  requestAnimationFrame(() => document.querySelector<HTMLInputElement>('#size')?.select());
}

/** Closes the ticket and returns the focus to the button that opened it. */
export function closeTicket(): void {
  if (!isOpen.peek()) return;
  isOpen.value = false;
  requestAnimationFrame(() => opener?.focus());
}

/** What a buyer pays or a seller gets. */
export function AnswerText({ of, isBid = false }: { of: OutcomeName; isBid?: boolean }) {
  const ticks = (isBid ? best[of].bid : best[of].ask).value;
  return (
    <>
      <span>
        <Sign of={of} /> {of}
      </span>
      <span class="outcome-price">{ticks === null ? '\u2013' : cents(ticks)}</span>
      <span class="chance">
        {chances.value === null ? '\u00a0' : t('{0}% chance', chances.value[of])}
      </span>
    </>
  );
}

export function Answers() {
  return (
    <fieldset class="answers" disabled={market.value === null}>
      <legend class="unseen">{t('Answers')}</legend>
      {(['UP', 'DOWN'] as const).map((each) => (
        <button
          type="button"
          key={each}
          class={`outcome-button ${each.toLowerCase()}`}
          onClick={({ currentTarget }) => open(each, currentTarget)}
        >
          <AnswerText of={each} />
        </button>
      ))}
    </fieldset>
  );
}
