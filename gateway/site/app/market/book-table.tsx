/**
 * One outcome's book: offers above, bids below, the best ones in the middle. A bar shows the shares
 * up to each level. Choosing a level copies its price into the ticket.
 *
 * Invariant: the number of rows never changes, so nothing moves. Each row is a button labelled with
 * the whole level. The drawing below it is only visual.
 */
import { computed, type Signal, useComputed, useSignalEffect } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { best, book } from '../model/book.js';
import { isLost } from '../model/exchange.js';
import { fillFromLevel, outcome } from '../model/ticket.js';
import { cents, wholeShares } from '../parts/format.js';
import { Panel } from '../parts/panel.js';
import { t } from '../words/words.js';
import { drawBook } from './book-canvas.js';
import { type BookRow, bids, followBook, offers } from './book-rows.js';

const farthestFirst = [...offers].reverse();

const spread = computed(() => {
  if (isLost.value) return t('Out of date');
  const { bid, ask } = best[outcome.value];
  if (bid.value !== null && ask.value !== null)
    return t('Spread {0}', cents(ask.value - bid.value));
  if (book.value === null) return t('Loading the book');
  return bid.value === ask.value ? t('The book is empty') : t('One side is empty');
});

export function BookTable() {
  const canvas = useRef<HTMLCanvasElement>(null);
  useSignalEffect(followBook);
  useEffect(() => drawBook(canvas.current!), []);
  const of = outcome.value;
  return (
    <Panel
      title={t('Order book, {0}', of)}
      class="book-panel"
      extra={<span class="soft small">{t('In whole shares')}</span>}
    >
      <div class="book">
        <p class="book-heads" aria-hidden="true">
          <span>{t('Price')}</span>
          <span>{t('Shares')}</span>
          <span>{t('Total')}</span>
        </p>
        <div class="book-body">
          <div class="book-drawing" aria-hidden="true">
            <canvas ref={canvas} />
          </div>
          <Side name={t('Offers of {0}, the best last', of)} rows={farthestFirst} kind="offer" />
          <p class="spread">{spread}</p>
          <Side name={t('Bids for {0}, the best first', of)} rows={bids} kind="bid" />
        </div>
      </div>
    </Panel>
  );
}

function Side(props: { name: string; rows: readonly Signal<BookRow>[]; kind: 'offer' | 'bid' }) {
  const { name, rows, kind } = props;
  return (
    <ul aria-label={name}>
      {rows.map((row, index) => (
        <li key={index}>
          <LevelButton of={row} kind={kind} />
        </li>
      ))}
    </ul>
  );
}

/** Drawn once. Its label follows the level in this row. */
function LevelButton({ of, kind }: { of: Signal<BookRow>; kind: 'offer' | 'bid' }) {
  const isEmpty = useComputed(() => of.value.priceTicks === 0);
  const label = useComputed(() => {
    const { priceTicks, lots, totalLots } = of.value;
    if (priceTicks === 0) return kind === 'bid' ? t('no bid') : t('no offer');
    const sizes = t('{0} shares, {1} in total', wholeShares(lots), wholeShares(totalLots));
    const name = kind === 'bid' ? t('bid') : t('offer');
    return t('{0} at {1}: {2}. Use this price', name, cents(priceTicks), sizes);
  });
  return (
    <button
      type="button"
      class={kind}
      disabled={isEmpty}
      aria-label={label}
      onClick={() => fillFromLevel(outcome.peek(), of.peek().priceTicks)}
    />
  );
}
