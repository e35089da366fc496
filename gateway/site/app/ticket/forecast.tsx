/** The order's effect on the current book, before it is sent. */
import type { ComponentChildren } from 'preact';
import { toLots } from '../../../client/index.js';
import { positions } from '../model/account.js';
import { isLost } from '../model/exchange.js';
import { market } from '../model/markets.js';
import { fees, isLimit, order, outcome, plan, shortage, side } from '../model/ticket.js';
import { averageCents, cents, dollars, exactDollars, perCent, shares } from '../parts/format.js';
import { Fact, Gain, Money } from '../parts/panel.js';
import { paidMicros } from '../results/fees.js';
import { t } from '../words/words.js';
import { averageMicros, type Plan, type PlannedOrder } from './plan.js';
import { FORETOLD } from './refusal.js';

export function Forecast() {
  const expected = plan.value;
  const sent = order.value;
  if (expected === null || sent === null || isLost.value) return <Rows rows={emptyRows()} />;
  const hint =
    expected.refusal === null
      ? shortage.value || certainLoss(expected) || shortfall(sent, expected)
      : FORETOLD[expected.refusal];
  const rows = side.value === 'BUY' ? buyRows : sellRows;
  return (
    <>
      <Rows rows={isPossible(expected) ? rows(expected) : emptyRows()} />
      {hint !== '' && <p class="hint">{hint}</p>}
    </>
  );
}

function isPossible({ refusal }: Plan): boolean {
  return refusal === null && (side.value === 'BUY' || shortage.value === '');
}

/** Warns if the payout is less than the price and the fee; otherwise empty. */
function certainLoss({ lots, valueMicros, feeMicros }: Plan): string {
  return side.value === 'BUY' && lots * 1_000 < valueMicros + feeMicros
    ? t('You lose even if {0} wins.', outcome.value)
    : '';
}

/** How much of the order can fill now; empty if all of it, or if the rest will rest in the book. */
function shortfall(sent: PlannedOrder, { isShort, lots, valueMicros }: Plan): string {
  if (!isShort) return '';
  const [part, whole] =
    sent.budgetMicros === null
      ? [shares(lots), t('{0} shares', shares(sent.lots!))]
      : [dollars(valueMicros), dollars(sent.budgetMicros)];
  return t('Only {0} of {1} can fill now. The rest is not traded.', part, whole);
}

function limitRow({ side: of, limitTicks }: PlannedOrder): Row[] {
  if (isLimit.value || limitTicks === null) return [];
  return [
    [
      of === 'BUY' ? t('You pay at most, per share') : t('You get at least, per share'),
      cents(limitTicks),
    ],
  ];
}

type Row = readonly [label: string, value: ComponentChildren, kind?: 'strong' | 'win'];

const DASH = '\u2013';
const feeLabel = () =>
  market.value === null
    ? t('Fee')
    : fees.value.curve > 0
      ? t('Fee on top')
      : t('Fee on top, {0}%', fees.value.flat / 100);

const emptyRows = (): Row[] => [
  [side.value === 'BUY' ? t('Payout if {0} wins', outcome.value) : t('You get'), dollars(0), 'win'],
  ...(side.value === 'BUY' ? [[t('Total'), dollars(0)] as const] : []),
];

function Rows({ rows }: { rows: readonly Row[] }) {
  return (
    <dl class="forecast">
      {rows.map(([label, value, kind = '']) => (
        <Fact key={label} label={label} value={value} class={kind} />
      ))}
    </dl>
  );
}

function pricesOf(expected: Plan): string {
  const average = averageMicros(expected);
  const worst = expected.taken.at(-1);
  return average === null || worst === undefined
    ? DASH
    : `${averageCents(average)} / ${cents(worst.priceTicks)}`;
}

function buyRows(expected: Plan): Row[] {
  const { lots, valueMicros, feeMicros, restingLots, heldMicros } = expected;
  const total = valueMicros + feeMicros;
  const of = outcome.value;
  const other = of === 'UP' ? 'DOWN' : 'UP';
  // A share of the winner pays a dollar, so a lot pays 1,000 micro-dollars.
  const payout = lots * 1_000;
  const profit = payout - total;
  const filled: Row[] = [
    [t('Payout if {0} wins', of), <Money key="payout" micros={payout} />, 'win'],
    [t('Total'), <Money key="total" micros={total} />, 'strong'],
    [
      t('Profit if {0} wins', of),
      <Gain key="profit" micros={profit}>
        {total === 0 ? '' : ` (${perCent(profit / total)})`}
      </Gain>,
    ],
    [t('Loss if {0} wins', other), <Gain key="loss" micros={-total} />],
  ];
  const resting: Row[] = [
    [t('Waits in the book'), t('{0} shares', shares(restingLots))],
    [t('Held until it fills, no fee'), <Money key="held" micros={heldMicros} />, 'strong'],
    [t('Payout if it fills and {0} wins', of), <Money key="then" micros={restingLots * 1_000} />],
  ];
  return [...(lots > 0 ? filled : []), ...(restingLots > 0 ? resting : [])];
}

function sellRows(expected: Plan): Row[] {
  const { lots, valueMicros, restingLots } = expected;
  const cost = costOf(lots);
  const filled: Row[] = [
    [t('You get'), <Money key="get" micros={valueMicros} />, 'win'],
    [
      t('Profit on these shares'),
      cost === null ? DASH : <Gain key="profit" micros={valueMicros - cost} />,
    ],
  ];
  const restingMicros = restingLots * (order.value?.limitTicks ?? 0);
  const resting: Row[] = [
    [t('Waits in the book'), t('{0} shares', shares(restingLots))],
    [t('You get when it fills'), <Money key="then" micros={restingMicros} />, 'strong'],
  ];
  return [...(lots > 0 ? filled : []), ...(restingLots > 0 ? resting : [])];
}

/** What the lots cost, including their fees; `null` if unknown, or more lots than owned. */
function costOf(lots: number): number | null {
  const own = positions.value.find(
    (each) => each.marketId === market.value?.id && each.outcome === outcome.value,
  );
  if (own === undefined || lots === 0 || toLots(own.shares) < lots) return null;
  const paid = paidMicros(own);
  return paid === null ? null : Number((BigInt(paid) * BigInt(lots)) / BigInt(toLots(own.shares)));
}

/** The price, the fee, and the levels that the order takes from. */
export function ForecastDetails() {
  const of = plan.value;
  const sent = order.value;
  if (of === null || sent === null || isLost.value || !isPossible(of)) return null;
  const { taken, lots, feeMicros } = of;
  if (taken.length === 0) return null;
  const buys = sent.side === 'BUY';
  const rows: Row[] = [
    [t('Shares'), shares(lots)],
    [t('Average / worst price'), pricesOf(of)],
    ...limitRow(sent),
    [feeLabel(), buys ? <Money key="fee" micros={feeMicros} /> : t('None on sales')],
  ];
  if (buys) rows.push([t('Refund if VOID'), <Money key="void" micros={lots * 500 + feeMicros} />]);
  return (
    <details class="levels">
      <summary>
        {t('Details: {0} shares at {1}', shares(lots), averageCents(averageMicros(of)!))}
      </summary>
      <Rows rows={rows} />
      <ul>
        {taken.map(({ priceTicks, lots: part }) => (
          <li key={priceTicks}>
            {t('{0} at {1}', shares(part), cents(priceTicks))} = {exactDollars(part * priceTicks)}
          </li>
        ))}
      </ul>
    </details>
  );
}
