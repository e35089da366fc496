/** The public trades, newest first, from the takers' side. */
import { tape } from '../model/tape.js';
import { clockSeconds, columnCents, wholeShares } from '../parts/format.js';
import { Outcome, Panel } from '../parts/panel.js';
import { t } from '../words/words.js';

export function TapeList() {
  const trades = tape.value;
  return (
    <Panel title={t('Recent trades')} class="tape-panel">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so it needs the keyboard */}
      <section class="tape-scroll" tabIndex={0} aria-label={t('Public trades')}>
        <table class="facts tape">
          <thead>
            <tr>
              <th scope="col">{t('Time')}</th>
              <th scope="col">{t('Taker')}</th>
              <th scope="col">{t('Price')}</th>
              <th scope="col">{t('Shares')}</th>
            </tr>
          </thead>
          <tbody>
            {trades.map((trade) => (
              <tr key={trade.tradeId}>
                <td>{clockSeconds(trade.atMs)}</td>
                <td>
                  {trade.side === 'BUY' ? t('buys') : t('sells')} <Outcome of={trade.outcome} />
                </td>
                <td>{columnCents(trade.ticks)}</td>
                <td>{wholeShares(trade.lots)}</td>
              </tr>
            ))}
          </tbody>
        </table>
        {trades.length === 0 && <p class="nothing">{t('No trades in this market yet.')}</p>}
      </section>
    </Panel>
  );
}
