/**
 * The report of a benchmark: sections of notes and tables, as text and JSON. Only the text rounds
 * numbers.
 */

export type Cell = number | string;

export interface Table {
  title: string;
  columns: readonly string[];
  rows: readonly (readonly Cell[])[];
}

/** A table and figures of a section. */
export interface Part {
  table: Table;
  figures: Record<string, number>;
}

export interface Section {
  name: string;
  /** What was measured, and how. */
  notes: readonly string[];
  tables: readonly Table[];
  /** The numbers to compare between runs. The unit is last in a name. */
  figures: Readonly<Record<string, number>>;
}

export function printSection(section: Section, print: (line: string) => void): void {
  print(`\n== ${section.name} ${'='.repeat(Math.max(3, 100 - section.name.length))}`);
  for (const note of section.notes) print(note);
  for (const table of section.tables) {
    print(`\n${table.title}`);
    for (const line of layOut(table)) print(`  ${line}`);
  }
}

/** The lines of a table: the first column is aligned to the left, the others to the right. */
export function layOut(table: Table): string[] {
  const rows = [table.columns, ...table.rows.map((row) => row.map(textOf))];
  const widths = table.columns.map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? '').length)),
  );
  const lines = rows.map((row) =>
    row
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!),
      )
      .join('  ')
      .trimEnd(),
  );
  lines.splice(1, 0, widths.map((width) => '-'.repeat(width)).join('  '));
  return lines;
}

/** With separators of thousands; below 100, three significant digits. */
export function textOf(cell: Cell): string {
  if (typeof cell === 'string') return cell;
  if (!Number.isFinite(cell)) return '-';
  if (Number.isInteger(cell)) return cell.toLocaleString('en-US');
  if (Math.abs(cell) >= 100) return Math.round(cell).toLocaleString('en-US');
  return cell.toLocaleString('en-US', { maximumSignificantDigits: 3 });
}

/** 0.1234 → "12.3%". */
export function percent(share: number): string {
  return Number.isFinite(share) ? `${(share * 100).toFixed(1)}%` : '-';
}
