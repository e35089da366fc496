/** The chosen asset's market: question, chart, ticket, book, trades and the user's holdings. */
import { Holdings } from '../account/holdings.js';
import { user } from '../model/session.js';
import { Later } from '../parts/later.js';
import { Answers } from '../ticket/answers.js';
import { Ticket } from '../ticket/ticket.js';
import { BookTable } from './book-table.js';
import { MarketHead } from './head.js';
import { TapeList } from './tape-list.js';

const loadBelow = () => import('./below.js');

export function MarketView() {
  return (
    <div class="market-view">
      <MarketHead />
      <div class="chart-slot">
        <Later load={loadBelow} name="Chart" />
      </div>
      <Ticket />
      <div class="own">
        {user.value !== null && <Later load={loadBelow} name="Results" />}
        <Holdings />
      </div>
      <BookTable />
      <TapeList />
      <div class="slots-panel">
        <Later load={loadBelow} name="SlotGrid" />
      </div>
      <Answers />
    </div>
  );
}
