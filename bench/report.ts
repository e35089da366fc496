/**
 * What the benchmark found: sections of notes and tables, printed for people and written as JSON for programs. Numbers are kept as they
 * were measured; rounding is for the print only.
 */

export type Cell = number | string;

export interface Table {
  title: string;
  columns: readonly string[];
  rows: readonly (readonly Cell[])[];
}

export interface Section {
  name: string;
  /** What was measured and how: what a reader must know to believe the numbers. */
  notes: readonly string[];
  tables: readonly Table[];
  /** The numbers that a regression would be looked for in, by name; the unit is last in the name. */
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

/** The lines of a table: the first column to the left, the others to the right. */
export function layOut(table: Table): string[] {
  const rows = [table.columns, ...table.rows.map((row) => row.map(textOf))];
  const widths = table.columns.map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  const lines = rows.map((row) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!)))
      .join('  ')
      .trimEnd(),
  );
  lines.splice(1, 0, widths.map((width) => '-'.repeat(width)).join('  '));
  return lines;
}

/** Thousands are separated; three significant digits below 100. */
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
