/** Below the market: the user's positions and resting orders, with their actions. */
import {
  cancel,
  type Position,
  type RestingOrder,
  toLots,
  toMicros,
} from '../../../client/index.js';
import { balance, claimable, orders, pairLots, positions, worthMicros } from '../model/account.js';
import { openAmend } from '../model/dialog.js';
import { api } from '../model/exchange.js';
import { market } from '../model/markets.js';
import { tell } from '../model/notice.js';
import { isExpected } from '../model/session.js';
import { Action } from '../parts/action.js';
import { averageCents, cents, dollars, shares, slotName } from '../parts/format.js';
import { Gain, Money, Outcome, Panel, Table } from '../parts/panel.js';
import { paidMicros } from '../results/fees.js';
import { sellAll } from '../ticket/sell-all.js';
import { mixed, t } from '../words/words.js';
import { cancelEvery, claimEvery, claimOne, mergePairs } from './everything.js';

const UNKNOWN = t('Loading');

export function Holdings() {
  if (!isExpected.value) return null;
  return (
    <>
      <PositionsPanel />
      <OrdersPanel />
    </>
  );
}

function PositionsPanel() {
  const rows = positions.value;
  const ready = claimable.value;
  return (
    <Panel
      title={t('Positions')}
      extra={
        ready.length > 1 && (
          <Action class="plain" run={() => tell(claimEvery)}>
            {t('Claim all')}
          </Action>
        )
      }
    >
      <Table
        label={t('Positions')}
        heads={[t('Market'), t('Shares'), t('Average'), t('Sell now'), t('Profit'), '']}
        nothing={balance.value === null ? UNKNOWN : t('No open positions.')}
        rows={rows.map((each) => ({
          key: `${each.marketId} ${each.outcome}`,
          cells: positionCells(each),
        }))}
      />
      <Pairs />
    </Panel>
  );
}

/** Offers to merge: a user with both outcomes need not wait for the end or sell. */
function Pairs() {
  const lots = pairLots.value;
  const marketId = market.value?.id;
  if (lots <= 0 || marketId === undefined) return null;
  return (
    <p class="more">
      <Action run={() => tell(() => mergePairs(marketId, lots))}>
        {t('Turn {0} UP and {1} DOWN into {2}', shares(lots), shares(lots), dollars(lots * 1_000))}
      </Action>
    </p>
  );
}

function positionCells(of: Position) {
  const worth = worthMicros(of);
  const paid = paidMicros(of);
  const profit = paid === null || worth === null ? null : worth - paid;
  const { outcome } = of;
  return [
    <>
      {outcome === null ? t('Refunded fees of') : <Outcome of={outcome} />} {slotName(of.marketId)}
    </>,
    outcome === null ? '\u2013' : shares(toLots(of.shares)),
    of.averagePrice === null ? '\u2013' : averageCents(toMicros(of.averagePrice)),
    <span key="value">
      {of.status === 'claimable' && <span class="soft small">{t('Payout')} </span>}
      {worth === null ? <span class="soft">{t('No bids')}</span> : <Money micros={worth} />}
      {of.status === 'open' && outcome !== null && (
        <span class="soft small">
          {' '}
          {mixed('pays {0} if {1}', dollars(toLots(of.shares) * 1_000), outcome)}
        </span>
      )}
    </span>,
    profit === null ? '\u2013' : <Gain key="profit" micros={profit} />,
    of.status === 'claimable' ? (
      <Action
        key="claim"
        class="plain strong"
        label={t('Claim {0} {1}', outcome ?? 'fees', slotName(of.marketId))}
        run={() => tell(() => claimOne(of.marketId))}
      >
        {t('Claim')}
      </Action>
    ) : (
      <button
        key="sell"
        type="button"
        class="plain"
        aria-label={t('Sell all {0} {1}', outcome ?? '', slotName(of.marketId))}
        disabled={of.marketId !== market.value?.id}
        onClick={() => outcome !== null && sellAll(outcome)}
      >
        {t('Sell all')}
      </button>
    ),
  ];
}

export function OrdersPanel() {
  const rows = orders.value;
  return (
    <Panel
      title={t('Open orders')}
      extra={rows.length > 0 && <Action run={() => tell(cancelEvery)}>{t('Cancel all')}</Action>}
    >
      <Table
        label={t('Open orders')}
        heads={[t('Order'), t('Price'), t('Shares'), t('Value'), '']}
        nothing={balance.value === null ? UNKNOWN : t('No open orders.')}
        rows={rows.map((each) => ({ key: each.orderId, cells: orderCells(each) }))}
      />
    </Panel>
  );
}

function orderCells(of: RestingOrder) {
  const side = of.side === 'BUY' ? t('buy') : t('sell');
  const name = t('{0} {1} at {2}', side, of.outcome, cents(of.priceTicks));
  return [
    <>
      {of.side === 'BUY' ? t('Buy') : t('Sell')} <Outcome of={of.outcome} /> {slotName(of.marketId)}
    </>,
    cents(of.priceTicks),
    shares(of.lots),
    <Money key="value" micros={of.lots * of.priceTicks} />,
    <span key="do" class="actions">
      <button
        type="button"
        class="plain"
        aria-label={t('Amend: {0}', name)}
        onClick={() => openAmend(of)}
      >
        {t('Amend')}
      </button>
      <Action label={t('Cancel: {0}', name)} run={() => cancel(api, of.marketId, of.orderId)}>
        {t('Cancel')}
      </Action>
    </span>,
  ];
}
