/** Where a journal is, in a form that can be sent to a thread, and how to read it there. */

import { openJournalReader } from '../journal/reader.js';
import type { JournalSource } from '../journal/store.js';
import type { PostgresAddress } from './postgres/address.js';
import { PostgresSource } from './postgres/postgres-source.js';

/** A data folder or PostgreSQL. `prefersStandby`: reads from a standby if there is one. */
export type JournalPlace =
  | { readonly folder: string }
  | { readonly postgres: PostgresAddress; readonly prefersStandby?: boolean };

/** @throws JournalError if the journal is missing or of a wrong version; JournalUnavailable. */
export function openSource(place: JournalPlace): Promise<JournalSource> {
  return 'postgres' in place
    ? PostgresSource.open(place.postgres, place.prefersStandby === true ? 'standby' : 'primary')
    : openJournalReader(place.folder);
}
