/** What the written order would do to the book as it stands, before it is sent. */
import type { ComponentChildren } from 'preact';
import { toLots, toMicros } from '../../../client/amounts.js';
import { positions } from '../model/account.js';
import { market } from '../model/markets.js';
import { feeBasisPoints, order, outcome, plan, side } from '../model/ticket.js';
import { averagePrice, dollars, gain, perCent, sharePrice, shares } from '../parts/format.js';
import { averageMicros, type Plan } from './plan.js';

const REFUSALS: Record<NonNullable<Plan['refusal']>, string> = {
  empty: 'Nobody offers this now: the order would find nothing and cost nothing.',
  too_small: 'This is less than 0.001 share costs.',
  not_filled: 'The book cannot fill all of it at this price now.',
  would_trade: 'It would trade at once, so a post-only order would be refused.',
};

export function Forecast() {
  const expected = plan.value;
  const written = order.value;
  if (expected === null || written === null) return <Rows rows={emptyRows()} />;
  if (expected.refusal !== null)
    return (
      <>
        <Rows rows={emptyRows()} />
        <p class="hint">{REFUSALS[expected.refusal]}</p>
      </>
    );
  return (
    <>
      <Rows rows={side.value === 'BUY' ? buyRows(expected) : sellRows(expected)} />
      <Levels of={expected} />
    </>
  );
}

type Row = readonly [label: string, value: ComponentChildren, kind?: string];

const DASH = '\u2013';
const feeLabel = () => (market.value === null ? 'Fee' : `Fee, ${feeBasisPoints.value / 100}%`);

const emptyRows = (): Row[] => [
  ['Shares', DASH],
  ['Average, worst price', DASH],
  [feeLabel(), DASH],
  ['Total', DASH],
];

function Rows({ rows }: { rows: readonly Row[] }) {
  return (
    <dl class="forecast">
      {rows.map(([label, value, kind = '']) => (
        <div key={label} class={kind}>
          <dt>{label}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function pricesOf(expected: Plan): string {
  const average = averageMicros(expected);
  const worst = expected.taken.at(-1);
  return average === null || worst === undefined
    ? DASH
    : `${averagePrice(average)}, $${sharePrice(worst.priceTicks)}`;
}

function buyRows(expected: Plan): Row[] {
  const { lots, valueMicros, feeMicros, restingLots, heldMicros } = expected;
  const total = valueMicros + feeMicros;
  const of = outcome.value;
  const other = of === 'UP' ? 'DOWN' : 'UP';
  // A share of the winner pays a dollar, a lot of it 1,000 micro-dollars.
  const payout = lots * 1_000;
  const rows: Row[] = [
    ['Shares', shares(lots)],
    ['Average, worst price', pricesOf(expected)],
    [feeLabel(), dollars(feeMicros)],
    ['Total', dollars(total), 'strong'],
  ];
  if (restingLots > 0) {
    rows.push(['Rests in the book', `${shares(restingLots)} shares`]);
    rows.push(['Held until it fills, no fee', dollars(heldMicros)]);
  }
  if (lots > 0) {
    const profit = payout - total;
    const rate = total === 0 ? '' : ` (${perCent(profit / total)})`;
    rows.push([`If ${of} wins, pays`, dollars(payout)]);
    rows.push(['Profit', `${gain(profit)}${rate}`, profit >= 0 ? 'is-up' : 'is-down']);
    rows.push([`If ${other} wins, loss`, gain(-total), 'is-down']);
    rows.push(['If void, back', dollars(lots * 500 + feeMicros)]);
  }
  return rows;
}

function sellRows(expected: Plan): Row[] {
  const { lots, valueMicros, restingLots } = expected;
  const rows: Row[] = [
    ['Shares', shares(lots)],
    ['Average, worst price', pricesOf(expected)],
    ['Fee', 'none on sales'],
    ['You get', dollars(valueMicros), 'strong'],
  ];
  if (restingLots > 0) rows.push(['Rests in the book', `${shares(restingLots)} shares`]);
  const cost = costOf(lots);
  if (cost !== null)
    rows.push([
      'Profit on these',
      gain(valueMicros - cost),
      valueMicros < cost ? 'is-down' : 'is-up',
    ]);
  return rows;
}

/** What the lots cost, as the exchange will count it; null: so many are not owned. */
function costOf(lots: number): number | null {
  const own = positions.value.find(
    (each) => each.marketId === market.value?.id && each.outcome === outcome.value,
  );
  if (own === undefined || lots === 0 || toLots(own.shares) < lots) return null;
  return Number((BigInt(toMicros(own.cost)) * BigInt(lots)) / BigInt(toLots(own.shares)));
}

/** The levels that it takes from. */
function Levels({ of: { taken } }: { of: Plan }) {
  if (taken.length === 0) return null;
  return (
    <details class="levels">
      <summary>
        {taken.length === 1 ? 'Takes from one level' : `Takes from ${taken.length} levels`}
      </summary>
      <ul>
        {taken.map(({ priceTicks, lots }) => (
          <li key={priceTicks}>
            {shares(lots)} at ${sharePrice(priceTicks)} = {dollars(lots * priceTicks)}
          </li>
        ))}
      </ul>
    </details>
  );
}
