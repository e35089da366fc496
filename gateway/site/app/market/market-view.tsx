/** The market of the chosen asset: all of it on one screen, with the ticket always in sight. */
import { Holdings } from '../account/holdings.js';
import { Ticket } from '../ticket/ticket.js';
import { BookTable } from './book-table.js';
import { Chart } from './chart.js';
import { MarketHead } from './head.js';
import { SlotGrid } from './slot-grid.js';
import { TapeList } from './tape-list.js';

export function MarketView() {
  return (
    <div class="market-view">
      <MarketHead />
      <Chart />
      <BookTable />
      <TapeList />
      <Ticket />
      <div class="below">
        <Holdings />
        <SlotGrid />
      </div>
    </div>
  );
}
