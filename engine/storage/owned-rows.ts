/** The rows of one table in lists by owner (a user), oldest first, with the length of each list. */
import { listsOf, type RowLists } from './row-lists.js';
import { type Accessors, type Table, tableOf } from './table.js';
import type { UndoLog } from './undo.js';

const OwnerTable = tableOf(16, { first: 'i32', last: 'i32', count: 'i32' });
const Lists = listsOf({ before: 'before', after: 'after', first: 'first', last: 'last' });

export class OwnedRows extends OwnerTable {
  private readonly lists: RowLists;

  constructor(
    undo: UndoLog,
    private readonly listed: Table & Accessors<{ before: 'i32'; after: 'i32' }>,
  ) {
    super(undo);
    this.lists = new Lists(listed, this);
  }

  append(owner: number, row: number): void {
    this.lists.append(owner, row);
    this.addCount(owner, 1);
  }

  remove(owner: number, row: number): void {
    this.lists.remove(owner, row);
    this.addCount(owner, -1);
  }

  rowsOf(owner: number): number[] {
    const rows: number[] = [];
    for (let row = this.first(owner); row !== 0; row = this.listed.after(row)) rows.push(row);
    return rows;
  }
}
