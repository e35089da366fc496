/** A page of a list, newest first; `nextCursor` null: it is the last. */
export interface Page<T, Cursor = number> {
  entries: T[];
  nextCursor: Cursor | null;
}

/** `cursor`: the `nextCursor` of the page before; null for the first. */
export interface PageRequest {
  /** The most entries, at least 1. */
  limit: number;
  cursor: number | null;
}
