/**
 * Doubly linked lists of the rows of one table. Each list belongs to a row of another table (a
 * user, a market, a price level), which has the ends. A row is in at most one list of a kind, and
 * every operation is O(1).
 *
 * `listsOf` generates a class for one kind of list from the names of the four fields, for speed, as
 * in table.ts.
 */
import type { Accessors, Table } from './table.js';

/** Names of i32 fields of the rows and of their owners. */
export interface ListFields<
  B extends string,
  A extends string,
  F extends string,
  L extends string,
> {
  before: B;
  after: A;
  first: F;
  last: L;
}

type Ints<Name extends string> = Table & Accessors<{ readonly [K in Name]: 'i32' }>;

export interface RowLists {
  append(owner: number, row: number): void;
  remove(owner: number, row: number): void;
}

export function listsOf<B extends string, A extends string, F extends string, L extends string>(
  fields: ListFields<B, A, F, L>,
): new (
  rows: Ints<B | A>,
  owners: Ints<F | L>,
) => RowLists {
  const { before, after, first, last } = fields;
  const set = (name: string) => `set${name[0]!.toUpperCase()}${name.slice(1)}`;
  const source = `return class {
    constructor(rows, owners) { this.rows = rows; this.owners = owners; }
    append(owner, row) {
      const { rows, owners } = this;
      rows.touch(row);
      owners.touch(owner);
      const last = owners.${last}(owner);
      rows.${set(before)}(row, last);
      rows.${set(after)}(row, 0);
      owners.${set(last)}(owner, row);
      if (last === 0) owners.${set(first)}(owner, row);
      else { rows.touch(last); rows.${set(after)}(last, row); }
    }
    remove(owner, row) {
      const { rows, owners } = this;
      const before = rows.${before}(row), after = rows.${after}(row);
      owners.touch(owner);
      if (before === 0) owners.${set(first)}(owner, after);
      else { rows.touch(before); rows.${set(after)}(before, after); }
      if (after === 0) owners.${set(last)}(owner, before);
      else { rows.touch(after); rows.${set(before)}(after, before); }
    }
  }`;
  return new Function(source)();
}
