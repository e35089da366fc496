/** The rules to know before trading, in plain words. */
import { assets, market } from './model/markets.js';
import { fees } from './model/ticket.js';
import { Panel } from './parts/panel.js';
import { mixed, t } from './words/words.js';

export function RulesView() {
  return (
    <>
      <div class="page-head">
        <h1>{t('Rules')}</h1>
      </div>
      <div class="columns rules">
        <Panel title={t('What you trade')}>
          <p>
            {mixed(
              'Every 15 minutes, a market opens for each asset: {0}. Will the asset end at or above the price to beat? UP is yes, DOWN is no. You can trade a market from an hour before it opens.',
              assets.value.join(', '),
            )}
          </p>
          <p>
            {t(
              "A share of the winning side pays $1.00. A share of the losing side pays nothing. A price of 60¢ means a chance of about 60%. The percentages on the page are estimates, not prices that you can trade at. They come from the asset's price, its average so far, how much it moves, and the time left.",
            )}
          </p>
        </Panel>
        <Panel title={t('How a market is decided')}>
          <p>
            {t(
              "The price to beat is the average price over the minute before the market opens. The end price is the average over the market's last minute. Each price counts for as long as it is the latest one.",
            )}
          </p>
          <p>
            {t(
              "UP wins if the end price is at or above the price to beat. Otherwise DOWN wins. The result is known two seconds after the end. The market's page lists the prices that counted, and your browser checks the averages.",
            )}
          </p>
          <p>
            {t(
              'A market without a price to decide it is VOID: every share pays $0.50, and fees are returned.',
            )}
          </p>
        </Panel>
        <Panel title={t('What it costs')}>
          <p>
            {/* Between two markets there is no rate. */}
            {mixed(
              'A buy that fills immediately costs a fee{0} on top of its amount. Sells, claims, and orders that wait in the book are free.',
              market.value !== null && feeText(),
            )}
          </p>
        </Panel>
        <Panel title={t('Orders and winnings')}>
          <p>
            {t(
              'A market order trades at the best prices in the book, within the limit that you choose. Any part that does not fill is cancelled. A limit order waits in the book until it fills, you cancel it, or the market ends.',
            )}
          </p>
          <p>
            {t(
              'You can sell before the end, if there are bids. The value of a position is what selling it now would bring: less than you paid, at first, by the spread between offers and bids. Claim your winnings in your portfolio. Unclaimed winnings are paid after 24 hours.',
            )}
          </p>
          <p>
            {t(
              'A confirmed order is final: the exchange has saved it to disk. "Verify" shows the hash that proves it.',
            )}
          </p>
        </Panel>
      </div>
    </>
  );
}

function feeText(): string {
  const { flat, curve } = fees.value;
  if (curve === 0) return t(' of {0}%', flat / 100);
  return t(' of {0}%, and {1}% × price × (1 − price) for each share,', flat / 100, curve / 100);
}
