/**
 * The book of one outcome: offers above, bids below, the nearest to the middle. A bar shows the
 * shares up to each level. Choosing a level takes its price over into the ticket.
 *
 * Always holds: it has the same number of rows whatever is in the book, so nothing below it moves.
 */
import { Component } from 'preact';
import type { Level } from '../../../client/stream/book.js';
import { best, book } from '../model/book.js';
import { fillFromLevel, outcome } from '../model/ticket.js';
import { sharePrice, shares } from '../parts/format.js';
import { Panel } from '../parts/panel.js';

const ROWS = 7;

export function BookTable() {
  const of = outcome.value;
  const sides = book.value?.[of];
  const asks = (sides?.asks ?? []).slice(0, ROWS);
  const bids = (sides?.bids ?? []).slice(0, ROWS);
  const deepest = Math.max(sum(asks), sum(bids), 1);
  const depthOf = (total: number) => Math.round((total / deepest) * 100);
  const bid = best[of].bid.value;
  const ask = best[of].ask.value;
  return (
    <Panel title={`Book, ${of}`} class="book-panel" extra={<span class="soft">in shares</span>}>
      <table class="book">
        <thead>
          <tr>
            <th scope="col">Price</th>
            <th scope="col">Shares</th>
            <th scope="col">In all</th>
          </tr>
        </thead>
        <tbody class="asks">
          {Array.from({ length: ROWS - asks.length }, (_, row) => (
            <EmptyRow key={`empty-${row}`} />
          ))}
          {withTotals(asks)
            .reverse()
            .map((row) => (
              <Row key={row.priceTicks} {...row} kind="offer" depth={depthOf(row.total)} />
            ))}
        </tbody>
        <tbody class="spread">
          <tr>
            <td colSpan={3}>
              {bid === null || ask === null
                ? book.value === null
                  ? 'The book is not known yet'
                  : 'One side is empty'
                : `Spread ${sharePrice(ask - bid)}`}
            </td>
          </tr>
        </tbody>
        <tbody class="bids">
          {withTotals(bids).map((row) => (
            <Row key={row.priceTicks} {...row} kind="bid" depth={depthOf(row.total)} />
          ))}
          {Array.from({ length: ROWS - bids.length }, (_, row) => (
            <EmptyRow key={`empty-${row}`} />
          ))}
        </tbody>
      </table>
    </Panel>
  );
}

interface RowProps {
  priceTicks: number;
  lots: number;
  total: number;
  kind: 'offer' | 'bid';
  /** The length of the bar, in hundredths. */
  depth: number;
}

/** Drawn again only when it changes: a busy book changes many times a second, most rows do not. */
class Row extends Component<RowProps> {
  override shouldComponentUpdate(next: RowProps): boolean {
    const { lots, total, depth } = this.props;
    return next.lots !== lots || next.total !== total || next.depth !== depth;
  }

  override render({ priceTicks, lots, total, kind, depth }: RowProps) {
    const choose = () => fillFromLevel(outcome.peek(), priceTicks);
    const label = `${kind} at ${sharePrice(priceTicks)}: use this price`;
    return (
      <tr class={kind} onClick={choose}>
        <td>
          <button type="button" class="level" aria-label={label}>
            {sharePrice(priceTicks)}
          </button>
        </td>
        <td>{shares(lots)}</td>
        <td>
          <span class="depth" style={{ transform: `scaleX(${depth / 100})` }} />
          <span class="depth-text">{shares(total)}</span>
        </td>
      </tr>
    );
  }
}

function EmptyRow() {
  return (
    <tr class="empty">
      <td>{'\u00a0'}</td>
      <td />
      <td />
    </tr>
  );
}

function sum(levels: readonly Level[]): number {
  return levels.reduce((total, { lots }) => total + lots, 0);
}

function withTotals(levels: readonly Level[]) {
  let total = 0;
  return levels.map(({ priceTicks, lots }) => {
    total += lots;
    return { priceTicks, lots, total };
  });
}
