/**
 * A table of facts. On a phone, each row of a table with many columns becomes a card with labelled
 * values. A table that is still too wide scrolls in its own box, which the keyboard can reach.
 */
import type { ComponentChildren } from 'preact';

/** More columns do not fit on a phone. */
const COLUMNS_MAX = 4;

export interface TableRow {
  key: string;
  cells: readonly ComponentChildren[];
}

export interface TableProps {
  label: string;
  heads: readonly string[];
  rows: readonly TableRow[];
  /** Shown if there are no rows. */
  nothing: string;
}

export function Table({ label, heads, rows, nothing }: TableProps) {
  if (rows.length === 0) return <p class="nothing">{nothing}</p>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so it needs the keyboard
    <section class="table-scroll" tabIndex={0} aria-label={label}>
      <table class={`facts ${heads.length > COLUMNS_MAX ? 'many' : ''}`}>
        <thead>
          <tr>
            {heads.map((head) => (
              <th key={head} scope="col">
                {head === '' ? <span class="unseen">Actions</span> : head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ key, cells }) => (
            <tr key={key}>
              {cells.map((cell, column) => (
                <td key={column} data-head={heads[column]}>
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
