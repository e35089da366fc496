/** An entry of userEvent, as the event that it is. */
import { decodeEvent, type EventRecord } from '../../../engine/interface/events.js';
import { type EntryOf, type USER_EVENT, USER_EVENT_FIELDS } from '../runs/format.js';

export type UserEventEntry = EntryOf<typeof USER_EVENT>;

export function eventOf(entry: UserEventEntry): EventRecord {
  return decodeEvent([entry.type, ...USER_EVENT_FIELDS.map((field) => entry[field])], 0);
}
