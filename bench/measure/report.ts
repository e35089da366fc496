/** A benchmark's report. Only the text has rounded numbers. */

export type Cell = number | string;

export interface Table {
  title: string;
  columns: readonly string[];
  rows: readonly (readonly Cell[])[];
}

/** One row per item. `columns`: each heading, and the cell that it shows of an item. */
export function tableOf<Item>(
  title: string,
  items: readonly Item[],
  columns: Readonly<Record<string, (item: Item) => Cell>>,
): Table {
  const cells = Object.values(columns);
  return {
    title,
    columns: Object.keys(columns),
    rows: items.map((item) => cells.map((cell) => cell(item))),
  };
}

export interface Part {
  table: Table;
  figures: Record<string, number>;
}

export interface Section {
  name: string;
  notes: readonly string[];
  tables: readonly Table[];
  /** To compare between runs. A name ends in its unit. */
  figures: Readonly<Record<string, number>>;
}

export function sectionOf(name: string, notes: readonly string[], parts: readonly Part[]): Section {
  const figures = Object.assign({}, ...parts.map((part) => part.figures));
  return { name, notes, tables: parts.map(({ table }) => table), figures };
}

export function printSection(section: Section, print: (line: string) => void): void {
  print(`\n== ${section.name} ${'='.repeat(Math.max(3, 100 - section.name.length))}`);
  for (const note of section.notes) print(note);
  for (const table of section.tables) {
    print(`\n${table.title}`);
    for (const line of layOut(table)) print(`  ${line}`);
  }
}

/** The first column is left-aligned, the others are right-aligned. */
export function layOut(table: Table): string[] {
  const rows = [table.columns, ...table.rows.map((row) => row.map(textOf))];
  const widths = table.columns.map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? '').length)),
  );
  const padded = (cell: string, column: number) =>
    column === 0 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!);
  const lines = rows.map((row) => row.map(padded).join('  ').trimEnd());
  lines.splice(1, 0, widths.map((width) => '-'.repeat(width)).join('  '));
  return lines;
}

/** Below 100, shows three significant digits. */
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
