/** What the exchange did. Final, because the exchange answers only once the result is on disk. */
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { type Digest, digest, order, toLots, toMicros } from '../../../client/index.js';
import { orders, trueAt } from '../model/account.js';
import { api, publicApi } from '../model/exchange.js';
import { user } from '../model/session.js';
import { Action } from '../parts/action.js';
import {
  averageCents,
  cents,
  clockSeconds,
  dollars,
  exactDollars,
  shares,
  slotName,
  whole,
} from '../parts/format.js';
import { Fact, Money } from '../parts/panel.js';
import { mixed, t } from '../words/words.js';
import { type Receipt, receipt } from './send.js';

export function ReceiptView() {
  const last = receipt.value;
  const element = useRef<HTMLDivElement>(null);
  // The receipt may be below the visible part, and a user who sees nothing buys again.
  useEffect(() => {
    if (last !== null) element.current?.scrollIntoView({ block: 'nearest' });
  }, [last]);
  return (
    <div class="receipt" role="status" ref={element}>
      {last !== null && <Details key={last.orderId} of={last} />}
    </div>
  );
}

/** Whether the order rested and no longer does. */
function isGone({ status, sequence, orderId }: Receipt): boolean {
  if (status !== 'resting' || trueAt.value < sequence) return false;
  return orders.value.every((each) => each.orderId !== orderId);
}

const ENDS: Record<string, string> = {
  filled: t('Filled'),
  expired: t('Expired'),
  market_ended: t('Ended with the market'),
};

/** What became of a resting order; empty if it still rests or its end is unknown yet. */
function useEnd(of: Receipt): string {
  const end = useSignal('');
  const hasEnded = isGone(of);
  useEffect(() => {
    const userId = user.peek()?.userId;
    if (!hasEnded || userId === undefined) return;
    const ending = order(api, userId, of.orderId, { minSequence: trueAt.peek() });
    ending.then(
      ({ reason }) => {
        end.value = ENDS[reason ?? 'filled'] ?? t('Cancelled');
      },
      () => {
        end.value = t('No longer open');
      },
    );
  }, [hasEnded, of.orderId, end]);
  return end.value;
}

function headline(of: Receipt, end: string): string {
  const { side, outcome, status } = of;
  const lots = toLots(of.shares);
  if (status === 'resting')
    return `${end === '' ? t('Open order') : end}: ${side === 'BUY' ? t('buy') : t('sell')} ${outcome}`;
  if (lots === 0) return t('Nothing was traded');
  const done = side === 'BUY' ? t('Bought') : t('Sold');
  return `${done} ${shares(lots)} ${outcome}`;
}

function missing(of: Receipt): string {
  const { budgetMicros, lots } = of.sent;
  if (of.restingShares > 0 || of.status === 'filled') return '';
  const [part, whole] =
    budgetMicros === null
      ? [shares(toLots(of.shares)), t('{0} shares', shares(lots!))]
      : [dollars(toMicros(of.side === 'BUY' ? of.spent : of.received)), dollars(budgetMicros)];
  const why =
    of.reason === 'too_small_to_rest' ? t('is too small to rest in the book') : t('was not traded');
  return t('Only {0} of {1} filled. The rest {2}.', part, whole, why);
}

function Details({ of }: { of: Receipt }) {
  const resting = toLots(of.restingShares);
  const end = useEnd(of);
  const unfilled = missing(of);
  const isTraded = toLots(of.shares) > 0;
  return (
    <>
      <p>
        <strong>{headline(of, end)}</strong> {slotName(of.marketId)}
        {of.averagePrice !== null && <> {t('at {0}', averageCents(toMicros(of.averagePrice)))}</>}
      </p>
      {unfilled !== '' && <p class="hint">{unfilled}</p>}
      <dl class="forecast">
        {isTraded && (
          <Fact
            label={of.side === 'BUY' ? t('Paid, including the fee') : t('Received')}
            value={<Money micros={toMicros(of.total)} />}
          />
        )}
        {isTraded && of.side === 'BUY' && (
          <Fact label={t('Fee')} value={<Money micros={toMicros(of.fee)} />} />
        )}
        {resting > 0 && (
          <Fact
            label={end === '' ? t('Waits in the book') : t('Waited in the book')}
            value={t('{0} shares at {1}', shares(resting), cents(of.sent.limitTicks!))}
          />
        )}
      </dl>
      <details class="levels">
        <summary>{t('Details')}</summary>
        <ul>
          {isTraded && (
            <li>
              {of.side === 'BUY' ? t('Paid') : t('Received')}{' '}
              {t('exactly {0}', exactDollars(toMicros(of.total)))}
              {of.side === 'BUY' && t(', including a fee of {0}', exactDollars(toMicros(of.fee)))}
            </li>
          )}
          <li>{mixed('Order {0}', of.orderId)}</li>
          <li>
            {t('Journal entry')} <span data-sequence>{whole(of.sequence)}</span>
          </li>
        </ul>
      </details>
      <p class="confirmed">
        <strong>{t('Confirmed')}</strong>
        <span class="soft"> {t('at {0}', clockSeconds(of.atMs))}</span>
      </p>
      <Proof key={of.sequence} sequence={of.sequence} />
    </>
  );
}

/** Use the sequence as its key, so that another receipt starts without a proof. */
function Proof({ sequence }: { sequence: number }) {
  const found = useSignal<Digest | null>(null);
  const batch = found.value?.batch;
  const read = async () => {
    found.value = await digest(publicApi, sequence);
  };
  if (batch === undefined) return <Action run={read}>{t('Verify')}</Action>;
  return (
    <div class="stack small">
      <p>
        {mixed(
          "SHA-256 of the journal's batch of entries {0} to {1}",
          batch.firstSequence,
          batch.lastSequence,
        )}
        :
      </p>
      <p>
        <code class="address" data-hash>
          {batch.hash}
        </code>
      </p>
      <p class="soft">
        {t(
          'The hash covers this batch and everything before it. Keep it: if the journal ever gives a different hash, something up to your order was changed.',
        )}
      </p>
    </div>
  );
}
