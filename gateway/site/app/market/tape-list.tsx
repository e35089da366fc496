/** The public trades, newest first, from the takers' side. */
import { tape } from '../model/tape.js';
import { clockSeconds, columnCents, wholeShares } from '../parts/format.js';
import { Outcome, Panel } from '../parts/panel.js';

export function TapeList() {
  const trades = tape.value;
  return (
    <Panel title="Recent trades" class="tape-panel">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so it needs the keyboard */}
      <section class="tape-scroll" tabIndex={0} aria-label="Public trades">
        <table class="tape">
          <thead>
            <tr>
              <th scope="col">Time</th>
              <th scope="col">Taker</th>
              <th scope="col">Price</th>
              <th scope="col">Shares</th>
            </tr>
          </thead>
          <tbody>
            {trades.map((trade) => (
              <tr key={trade.tradeId}>
                <td>{clockSeconds(trade.atMs)}</td>
                <td>
                  {trade.side === 'BUY' ? 'buys' : 'sells'} <Outcome of={trade.outcome} />
                </td>
                <td>{columnCents(trade.ticks)}</td>
                <td>{wholeShares(trade.lots)}</td>
              </tr>
            ))}
          </tbody>
        </table>
        {trades.length === 0 && <p class="nothing">No trades in this market yet.</p>}
      </section>
    </Panel>
  );
}
