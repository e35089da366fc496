/** Reads the events of a command by the names of their fields. */
import {
  EVENT_LENGTHS,
  EVENT_NAMES,
  type EventName,
  EventSlot,
} from '../../../engine/interface/events.js';
import type { NumberBuffer } from '../../../engine/storage/number-buffer.js';

const SLOTS: Readonly<Record<string, Readonly<Record<string, number>>>> = EventSlot;

/** Calls `take` with each event and a function that returns the value of a field. */
export function eachEvent(
  { values, length }: NumberBuffer,
  take: (name: EventName, field: (name: string) => number) => void,
): void {
  for (let at = 0; at < length; at += EVENT_LENGTHS[values[at]!]!) {
    const name = EVENT_NAMES[values[at]!] as EventName;
    take(name, (field) => values[at + SLOTS[name]![field]!]!);
  }
}
