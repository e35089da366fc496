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
import { cancelEvery, claimEvery, claimOne, mergePairs } from './everything.js';

const UNKNOWN = 'Loading';

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
      title="Positions"
      extra={
        ready.length > 1 && (
          <Action class="plain" run={() => tell(claimEvery)}>
            Claim all
          </Action>
        )
      }
    >
      <Table
        label="Positions"
        heads={['Market', 'Shares', 'Average', 'Sell now', 'Profit', '']}
        nothing={balance.value === null ? UNKNOWN : 'No positions yet.'}
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
        Turn {shares(lots)} UP and {shares(lots)} DOWN into {dollars(lots * 1_000)}
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
      {outcome === null ? 'Fees of' : <Outcome of={outcome} />} {slotName(of.marketId)}
    </>,
    outcome === null ? '\u2013' : shares(toLots(of.shares)),
    of.averagePrice === null ? '\u2013' : averageCents(toMicros(of.averagePrice)),
    <span key="value">
      {worth === null ? <span class="soft">No bids</span> : <Money micros={worth} />}
      {of.status === 'open' && outcome !== null && (
        <span class="soft small">
          {' '}
          pays {dollars(toLots(of.shares) * 1_000)} if {outcome}
        </span>
      )}
    </span>,
    profit === null ? '\u2013' : <Gain key="profit" micros={profit} />,
    of.status === 'claimable' ? (
      <Action
        key="claim"
        class="plain strong"
        label={`Claim ${outcome ?? 'fees'} ${slotName(of.marketId)}`}
        run={() => tell(() => claimOne(of.marketId))}
      >
        Claim
      </Action>
    ) : (
      <button
        key="sell"
        type="button"
        class="plain"
        aria-label={`Sell all ${outcome} ${slotName(of.marketId)}`}
        disabled={of.marketId !== market.value?.id}
        onClick={() => outcome !== null && sellAll(outcome)}
      >
        Sell all
      </button>
    ),
  ];
}

export function OrdersPanel() {
  const rows = orders.value;
  return (
    <Panel
      title="Open orders"
      extra={rows.length > 0 && <Action run={() => tell(cancelEvery)}>Cancel all</Action>}
    >
      <Table
        label="Open orders"
        heads={['Order', 'Price', 'Shares', 'Value', '']}
        nothing={balance.value === null ? UNKNOWN : 'No open orders.'}
        rows={rows.map((each) => ({ key: each.orderId, cells: orderCells(each) }))}
      />
    </Panel>
  );
}

function orderCells(of: RestingOrder) {
  const name = `${of.side === 'BUY' ? 'buy' : 'sell'} ${of.outcome} at ${cents(of.priceTicks)}`;
  return [
    <>
      {of.side === 'BUY' ? 'Buy' : 'Sell'} <Outcome of={of.outcome} /> {slotName(of.marketId)}
    </>,
    cents(of.priceTicks),
    shares(of.lots),
    <Money key="value" micros={of.lots * of.priceTicks} />,
    <span key="do" class="actions">
      <button
        type="button"
        class="plain"
        aria-label={`Amend: ${name}`}
        onClick={() => openAmend(of)}
      >
        Amend
      </button>
      <Action label={`Cancel: ${name}`} run={() => cancel(api, of.marketId, of.orderId)}>
        Cancel
      </Action>
    </span>,
  ];
}
