/** Above the ticket: the user's shares in the shown market, their sale value, and the exit. */
import { toLots } from '../../../client/index.js';
import { positions, worthMicros } from '../model/account.js';
import { market } from '../model/markets.js';
import { dollars, shares } from '../parts/format.js';
import { Outcome } from '../parts/panel.js';
import { mixed, t } from '../words/words.js';
import { sellAll } from './sell-all.js';

export function OwnPosition() {
  const marketId = market.value?.id;
  const own = positions.value.filter(
    (each) => each.marketId === marketId && each.status === 'open' && each.outcome !== null,
  );
  return own.map((of) => {
    const outcome = of.outcome!;
    const lots = toLots(of.shares);
    const worth = worthMicros(of);
    return (
      <p key={outcome} class="own-position">
        <span>
          {shares(lots)} <Outcome of={outcome} />
        </span>
        <span class="soft">
          {worth === null ? t('No bids') : `${t('Sell now')} ${dollars(worth)}`} ·{' '}
          {mixed('pays {0} if {1}', dollars(lots * 1_000), outcome)}
        </span>
        <button
          type="button"
          class="plain"
          aria-label={t('Sell all of your {0}', outcome)}
          onClick={() => sellAll(outcome)}
        >
          {t('Sell all')}
        </button>
      </p>
    );
  });
}
