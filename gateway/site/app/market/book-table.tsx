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
import { drawBook } from './book-canvas.js';
import { type BookRow, bids, followBook, offers } from './book-rows.js';

const farthestFirst = [...offers].reverse();

const spread = computed(() => {
  if (isLost.value) return 'Out of date';
  const { bid, ask } = best[outcome.value];
  if (bid.value !== null && ask.value !== null) return `Spread ${cents(ask.value - bid.value)}`;
  if (book.value === null) return 'Loading the book';
  return bid.value === ask.value ? 'The book is empty' : 'One side is empty';
});

export function BookTable() {
  const canvas = useRef<HTMLCanvasElement>(null);
  useSignalEffect(followBook);
  useEffect(() => drawBook(canvas.current!), []);
  const of = outcome.value;
  return (
    <Panel
      title={`Order book, ${of}`}
      class="book-panel"
      extra={<span class="soft small">Whole shares</span>}
    >
      <div class="book">
        <p class="book-heads" aria-hidden="true">
          <span>Price</span>
          <span>Shares</span>
          <span>Total</span>
        </p>
        <div class="book-body">
          <div class="book-drawing" aria-hidden="true">
            <canvas ref={canvas} />
          </div>
          <Side name={`Offers of ${of}, the best last`} rows={farthestFirst} kind="offer" />
          <p class="spread">{spread}</p>
          <Side name={`Bids for ${of}, the best first`} rows={bids} kind="bid" />
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
    if (priceTicks === 0) return `no ${kind}`;
    const sizes = `${wholeShares(lots)} shares, ${wholeShares(totalLots)} in total`;
    return `${kind} at ${cents(priceTicks)}: ${sizes}. Use this price`;
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
