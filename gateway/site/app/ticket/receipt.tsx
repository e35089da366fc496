/** What the exchange did: final, because it answers only what is on disk. */
import { toLots, toMicros } from '../../../client/amounts.js';
import { active } from '../model/markets.js';
import { averagePrice, clockSeconds, dollars, shares, whole } from '../parts/format.js';
import { slotName } from '../parts/market-name.js';
import { Proof } from './proof.js';
import { type Receipt, receipt } from './send.js';

export function ReceiptView() {
  const last = receipt.value;
  return (
    <div class="receipt" role="status">
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
    return `${isOver(of) ? 'Rested until the market ended' : 'Resting'}: ${side === 'BUY' ? 'buy' : 'sell'} ${outcome}`;
  if (lots === 0) return 'Nothing was traded';
  const done = side === 'BUY' ? 'Bought' : 'Sold';
  return `${done} ${shares(lots)} ${outcome}`;
}

/** What was asked for and not traded; empty: nothing. */
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
  return (
    <>
      <p class="receipt-head">
        <strong>{headline(of)}</strong> {slotName(of.marketId)}
        {of.averagePrice !== null && <> at {averagePrice(toMicros(of.averagePrice))}</>}
      </p>
      {unfilled !== '' && <p class="hint">{unfilled}</p>}
      <dl class="forecast">
        <div>
          <dt>{of.side === 'BUY' ? 'Paid, with the fee' : 'Received'}</dt>
          <dd>{dollars(toMicros(of.total))}</dd>
        </div>
        {of.side === 'BUY' && (
          <div>
            <dt>Fee</dt>
            <dd>{dollars(toMicros(of.fee))}</dd>
          </div>
        )}
        {resting > 0 && (
          <div>
            <dt>{isOver(of) ? 'Rested in the book' : 'Rests in the book'}</dt>
            <dd>{shares(resting)} shares</dd>
          </div>
        )}
        <div>
          <dt>Final, on disk</dt>
          <dd>
            sequence <span data-sequence>{whole(of.sequence)}</span>, {clockSeconds(of.atMs)}
          </dd>
        </div>
      </dl>
      <Proof key={of.sequence} sequence={of.sequence} />
    </>
  );
}
