/** Events and prices of a market as responses show them. */
import type { Side } from '../../../engine/interface/domain.js';
import { sideName } from '../../../engine/interface/notation.js';
import type { MarketEvent, MarketTicks } from '../../../persistence/history/market-events.js';
import { lots, micros, ticks } from '../../json/decimal.js';
import { jsonText } from '../../json/serializer.js';
import { marketTradeOf } from '../history/views.js';
import type { BookEvent, PriceEvent, TradeEvent } from './schemas.js';

export function eventText(event: MarketEvent): string {
  const { sequence, atMs } = event.entry;
  switch (event.type) {
    case 'book': {
      const { bookSide, upTicks, changeLots } = event.entry;
      const level = { side: sideName(bookSide as Side), price: ticks(upTicks) };
      return jsonText<typeof BookEvent>({
        sequence,
        atMs,
        type: 'book',
        ...level,
        change: lots(changeLots),
      });
    }
    case 'trade': {
      const { atMs: _, ...trade } = marketTradeOf(event.entry);
      return jsonText<typeof TradeEvent>({ sequence, atMs, type: 'trade', ...trade });
    }
    case 'price': {
      const { observedAtMs, priceMicros } = event.entry;
      const price = micros(priceMicros);
      return jsonText<typeof PriceEvent>({ sequence, atMs, type: 'price', observedAtMs, price });
    }
  }
}

export function ticksOf(prices: MarketTicks['start']) {
  return prices.map(({ observedAtMs, priceMicros }) => ({
    observedAtMs,
    price: micros(priceMicros),
  }));
}
