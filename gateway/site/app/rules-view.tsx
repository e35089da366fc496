/** The rules to know before trading, in plain words. */
import { assets, market } from './model/markets.js';
import { feeBasisPoints } from './model/ticket.js';
import { Panel } from './parts/panel.js';

export function RulesView() {
  return (
    <>
      <div class="page-head">
        <h1>Rules</h1>
      </div>
      <div class="columns rules">
        <Panel title="What you trade">
          <p>
            Every 15 minutes, a market opens for each asset: {assets.value.join(', ')}. It asks
            whether the price will be at or above the price to beat when the market ends. UP says
            yes, DOWN says no. It can be traded through the API from an hour before.
          </p>
          <p>
            A share of the right answer pays $1.00, a share of the other one nothing. A price of 60¢
            therefore means a chance of about 60%. The percentages on the page are no quotes: the
            exchange computes them from the asset's price, its average so far, how much it moves,
            and the time left.
          </p>
        </Panel>
        <Panel title="How a market is decided">
          <p>
            The price to beat is the average price of the minute before the market opens. The end
            price is the average of the market's last minute. Each price counts for as long as it is
            the latest.
          </p>
          <p>
            UP wins if the end price is at or above the price to beat. Otherwise DOWN wins. A market
            is decided two seconds after its end. Its page lists the prices that counted, and your
            browser computes the averages again.
          </p>
          <p>
            If there is no price to decide by, the market is VOID: every share pays $0.50, and fees
            are returned.
          </p>
        </Panel>
        <Panel title="What it costs">
          <p>
            {/* Between two markets there is no rate. */}A purchase that fills at once costs a fee
            {market.value !== null && ` of ${feeBasisPoints.value / 100}%`} on top of its amount.
            Sales, claims, and orders that wait in the book cost none.
          </p>
        </Panel>
        <Panel title="Orders and winnings">
          <p>
            A market order trades at the best prices of the book, up to a worst price that you
            choose; what does not fill is not traded. A limit order waits in the book until it
            fills, you cancel it, or the market ends.
          </p>
          <p>
            You can sell before the end, while somebody bids: the value of a position is what its
            sale would bring now. Claim what you won in your portfolio; what you do not claim is
            paid after 24 hours.
          </p>
          <p>
            An order is final once it is confirmed: it is then on the exchange's disk, and "Verify"
            shows the hash that proves it.
          </p>
        </Panel>
      </div>
    </>
  );
}
