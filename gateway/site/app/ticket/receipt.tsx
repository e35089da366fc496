/** What the exchange did. Final, because the exchange answers only after the disk. */
import { useEffect, useRef } from 'preact/hooks';
import { toLots, toMicros } from '../../../client/amounts.js';
import { active } from '../model/markets.js';
import { Fact } from '../parts/figure.js';
import {
  averageCents,
  cents,
  clockSeconds,
  dollars,
  exactDollars,
  shares,
  whole,
} from '../parts/format.js';
import { slotName } from '../parts/market-name.js';
import { Money } from '../parts/money.js';
import { Proof } from './proof.js';
import { type Receipt, receipt } from './send.js';

export function ReceiptView() {
  const last = receipt.value;
  const element = useRef<HTMLDivElement>(null);
  // The receipt may be out of sight below the button, and a user who sees nothing buys again.
  useEffect(() => {
    if (last !== null) element.current?.scrollIntoView({ block: 'nearest' });
  }, [last]);
  return (
    <div class="receipt" role="status" ref={element}>
      {last !== null && <Details of={last} />}
    </div>
  );
}

function isOver({ marketId }: Receipt): boolean {
  return [...active.value.values()].every(({ id }) => id !== marketId);
}

function headline(of: Receipt): string {
  const { side, outcome, status } = of;
  const lots = toLots(of.shares);
  if (status === 'resting')
    return `${isOver(of) ? 'Ended with the market' : 'Open order'}: ${side === 'BUY' ? 'buy' : 'sell'} ${outcome}`;
  if (lots === 0) return 'Nothing was traded';
  const done = side === 'BUY' ? 'Bought' : 'Sold';
  return `${done} ${shares(lots)} ${outcome}`;
}

/** What was ordered but not traded; empty: nothing. */
function missing(of: Receipt): string {
  const { budgetMicros, lots } = of.sent;
  if (of.restingShares > 0 || of.status === 'filled') return '';
  const [part, whole] =
    budgetMicros === null
      ? [shares(toLots(of.shares)), `${shares(lots!)} shares`]
      : [dollars(toMicros(of.side === 'BUY' ? of.spent : of.received)), dollars(budgetMicros)];
  const why =
    of.reason === 'too_small_to_rest' ? 'is too small to rest in the book' : 'was not traded';
  return `Only ${part} of ${whole} filled. The rest ${why}.`;
}

function Details({ of }: { of: Receipt }) {
  const resting = toLots(of.restingShares);
  const unfilled = missing(of);
  const isTraded = toLots(of.shares) > 0;
  return (
    <>
      <p class="receipt-head">
        <strong>{headline(of)}</strong> {slotName(of.marketId)}
        {of.averagePrice !== null && <> at {averageCents(toMicros(of.averagePrice))}</>}
      </p>
      {unfilled !== '' && <p class="hint">{unfilled}</p>}
      <dl class="forecast">
        {isTraded && (
          <Fact
            label={of.side === 'BUY' ? 'Paid, including the fee' : 'Received'}
            value={<Money micros={toMicros(of.total)} />}
          />
        )}
        {isTraded && of.side === 'BUY' && (
          <Fact label="Fee" value={<Money micros={toMicros(of.fee)} />} />
        )}
        {resting > 0 && (
          <Fact
            label={isOver(of) ? 'Waited in the book' : 'Waits in the book'}
            value={`${shares(resting)} shares at ${cents(of.sent.limitTicks!)}`}
          />
        )}
      </dl>
      <details class="levels">
        <summary>Details</summary>
        <ul>
          {isTraded && (
            <li>
              {of.side === 'BUY' ? 'Paid' : 'Received'} exactly {exactDollars(toMicros(of.total))}
              {of.side === 'BUY' && <>, including a fee of {exactDollars(toMicros(of.fee))}</>}
            </li>
          )}
          <li>Order {of.orderId}</li>
        </ul>
      </details>
      <p class="confirmed">
        <strong>Confirmed</strong>
        <span class="soft">
          {' '}
          on disk as no. <span data-sequence>{whole(of.sequence)}</span> at {clockSeconds(of.atMs)}
        </span>
      </p>
      <Proof key={of.sequence} sequence={of.sequence} />
    </>
  );
}
