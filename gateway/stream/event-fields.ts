/** Where the fields of each event stand on the tape, counted from the event's own number, for reading without decoding. */
import { Outcome } from '../../engine/domain.js';
import { EVENT_FIELDS, EVENT_NAMES, type EventName } from '../../engine/events.js';
import { MICROS_PER_SET } from '../../engine/limits.js';

export type EventOffsets<K extends EventName> = {
  readonly [Field in (typeof EVENT_FIELDS)[K][number]]: number;
};

export const EventField = Object.freeze(
  Object.fromEntries(
    EVENT_NAMES.map((name) => [
      name,
      Object.fromEntries((EVENT_FIELDS[name] as readonly string[]).map((field, i) => [field, i + 1])),
    ]),
  ),
) as unknown as { readonly [K in EventName]: EventOffsets<K> };

/** A price of UP in an outcome's own ticks, and the other way round. */
export function ticksIn(outcome: number, upTicks: number): number {
  return outcome === Outcome.UP ? upTicks : MICROS_PER_SET - upTicks;
}
