/** Above the ticket: the user's shares in the shown market, their sale value, and the exit. */
import { toLots } from '../../../client/index.js';
import { positions, worthMicros } from '../model/account.js';
import { market } from '../model/markets.js';
import { dollars, shares } from '../parts/format.js';
import { Outcome } from '../parts/panel.js';
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
          {worth === null ? 'no bids now' : `${dollars(worth)} if sold now`}, pays{' '}
          {dollars(lots * 1_000)}
        </span>
        <button
          type="button"
          class="plain"
          aria-label={`Sell all of your ${outcome}`}
          onClick={() => sellAll(outcome)}
        >
          Sell all
        </button>
      </p>
    );
  });
}
