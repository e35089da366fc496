/** A market event as JSON of the API, for its route and for the day files. */
import { type Side, ticksIn } from '../../../engine/interface/domain.js';
import {
  lotsText,
  matchTypeName,
  microsText,
  outcomeName,
  sideName,
  ticksText,
} from '../../../engine/interface/notation.js';
import type { MarketEvent } from '../market-events.js';

export function eventText(event: MarketEvent): string {
  const { sequence, atMs } = event.entry;
  const head = `{"sequence":${sequence},"atMs":${atMs},"type":"${event.type}"`;
  switch (event.type) {
    case 'book': {
      const { bookSide, upTicks, changeLots } = event.entry;
      const level = `"side":"${sideName(bookSide as Side)}","price":${ticksText(upTicks)}`;
      return `${head},${level},"change":${lotsText(changeLots)}}`;
    }
    case 'trade': {
      const { tradeId, takerOutcome, takerSide, upTicks, sizeLots, matchType } = event.entry;
      const priceTicks = ticksIn(takerOutcome, upTicks);
      return (
        `${head},"tradeId":"t${tradeId}","outcome":"${outcomeName(takerOutcome)}"` +
        `,"side":"${sideName(takerSide)}","price":${ticksText(priceTicks)}` +
        `,"shares":${lotsText(sizeLots)},"value":${microsText(sizeLots * priceTicks)}` +
        `,"matchType":"${matchTypeName(matchType)}"}`
      );
    }
    case 'price': {
      const { observedAtMs, priceMicros } = event.entry;
      return `${head},"observedAtMs":${observedAtMs},"price":${microsText(priceMicros)}}`;
    }
  }
}
