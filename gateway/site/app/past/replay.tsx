/** The replay: a slider through a finished market, with its book, tape and price at every event. */
import { useComputed, useSignal } from '@preact/signals';
import { toLots, toTicks } from '../../../client/amounts.js';
import { marketEvents, pages } from '../../../client/index.js';
import type { MarketDetail, MarketEvent } from '../../../client/types.js';
import { publicApi } from '../model/exchange.js';
import { Action } from '../parts/action.js';
import {
  assetPrice,
  clockSeconds,
  priceDifference,
  sharePrice,
  shares,
  whole,
} from '../parts/format.js';
import { Outcome } from '../parts/outcome.js';
import { Panel } from '../parts/panel.js';
import { Table } from '../parts/table.js';
import { type Moment, type MomentLevel, momentAfter } from './moment.js';

const LEVELS = 8;

export function ReplayPanel({ of }: { of: MarketDetail }) {
  const events = useSignal<readonly MarketEvent[] | null>(null);
  const read = useSignal(0);
  const load = async () => {
    const found: MarketEvent[] = [];
    const all = pages((paging) => marketEvents(publicApi, of.id, paging), 'events');
    for await (const event of all) {
      found.push(event);
      if (found.length % 200 === 0) read.value = found.length;
    }
    events.value = found;
  };
  const loaded = events.value;
  if (loaded !== null)
    return (
      <Panel title="Replay">
        {loaded.length === 0 ? (
          <p class="nothing">Nothing happened in this market.</p>
        ) : (
          <Player of={of} events={loaded} />
        )}
      </Panel>
    );
  return (
    <Panel title="Replay">
      <p class="panel-body actions">
        <Action class="plain strong" run={load}>
          Replay this market
        </Action>
        <span class="soft" role="status">
          {read.value > 0 && `${whole(read.value)} events`}
        </span>
      </p>
    </Panel>
  );
}

function Player({ of, events }: { of: MarketDetail; events: readonly MarketEvent[] }) {
  const count = useSignal(events.length);
  const moment = useComputed(() => momentAfter(events, count.value));
  const shown = moment.value;
  const text = `${clockSeconds(shown.atMs)}, event ${whole(count.value)} of ${whole(events.length)}`;
  return (
    <div class="panel-body stack replay">
      <div class="field">
        <label for="moment">Moment: {text}</label>
        <input
          id="moment"
          type="range"
          min={1}
          max={events.length}
          value={count.value}
          aria-valuetext={text}
          onInput={({ currentTarget }) => {
            count.value = Number(currentTarget.value);
          }}
        />
      </div>
      <p>
        {of.asset} <strong>{shown.price === null ? '\u2013' : assetPrice(shown.price)}</strong>
        {shown.price !== null && (
          <span class="soft">
            {' '}
            {priceDifference(shown.price - of.startPrice)} against the price to beat
          </span>
        )}
        , sequence <span data-moment-sequence>{whole(shown.sequence)}</span>
      </p>
      <div class="columns">
        <Levels title="Bids for UP" levels={shown.bids} />
        <Levels title="Offers of UP" levels={shown.asks} />
        <Tape of={shown} />
      </div>
    </div>
  );
}

function Levels({ title, levels }: { title: string; levels: readonly MomentLevel[] }) {
  return (
    <div>
      <h3>{title}</h3>
      <Table
        label={title}
        heads={['Price', 'Shares']}
        nothing="None."
        rows={levels.slice(0, LEVELS).map(({ ticks, lots }) => ({
          key: `${ticks}`,
          cells: [`$${sharePrice(ticks)}`, shares(lots)],
        }))}
      />
    </div>
  );
}

function Tape({ of }: { of: Moment }) {
  return (
    <div>
      <h3>Last trades</h3>
      <Table
        label="Last trades"
        heads={['Taker', 'Time', 'Price', 'Shares']}
        nothing="No trade yet."
        rows={of.trades.map((each) => ({
          key: each.tradeId,
          cells: [
            <>
              {each.side === 'BUY' ? 'buys' : 'sells'} <Outcome of={each.outcome} />
            </>,
            clockSeconds(each.atMs),
            `$${sharePrice(toTicks(each.price))}`,
            shares(toLots(each.shares)),
          ],
        }))}
      />
    </div>
  );
}
