/**
 * In an atomic batch, a row is touched before it changes, because the undo log cannot undo an
 * unknown change. The tables of a watched engine throw if a row was not touched.
 */
import type { Engine } from '../../../engine/engine.js';
import { PooledTable, Table } from '../../../engine/storage/table.js';
import { UndoLog } from '../../../engine/storage/undo.js';

type Change = (row: number, ...values: number[]) => unknown;

export function watchRows(engine: Engine): void {
  const parts = new Set<object>();
  collect((engine as unknown as { state: object }).state, parts);
  const logs = [...parts].filter((part) => part instanceof UndoLog);
  const tables = [...parts].filter((part) => part instanceof Table);
  if (logs.length !== 1 || tables.length === 0) throw new Error('the state has another shape');
  for (const table of tables) watch(table as Table, logs[0] as UndoLog);
}

function collect(value: object, parts: Set<object>): void {
  if (parts.has(value) || ArrayBuffer.isView(value)) return;
  parts.add(value);
  for (const part of Object.values(value))
    if (typeof part === 'object' && part !== null) collect(part, parts);
}

function watch(table: Table, undo: UndoLog): void {
  const touched = new Set<number>();
  const own = table as Table & Record<string, Change>;
  const begin = undo.begin.bind(undo);
  undo.begin = () => {
    touched.clear();
    begin();
  };
  const touch = own.touch.bind(own);
  own.touch = (row) => {
    touched.add(row);
    touch(row);
  };
  for (const name of ['clear', ...settersOf(table)]) {
    const change = own[name]!.bind(own);
    own[name as 'clear'] = (row: number, ...values: number[]) => {
      if (undo.recording && !touched.has(row))
        throw new Error(`${name}: row ${row} was not touched`);
      return change(row, ...values);
    };
  }
}

/** The setters of the class that `tableOf` or `pooledTableOf` has made. */
function settersOf(table: Table): string[] {
  for (let made = Object.getPrototypeOf(table); ; made = Object.getPrototypeOf(made)) {
    const base = Object.getPrototypeOf(made);
    if (base !== Table.prototype && base !== PooledTable.prototype) continue;
    const fields = Object.getOwnPropertyNames(made);
    const changes = fields.flatMap((field) => {
      const name = `${field[0]!.toUpperCase()}${field.slice(1)}`;
      return [`set${name}`, `add${name}`];
    });
    return changes.filter((name) => fields.includes(name));
  }
}
