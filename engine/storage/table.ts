/**
 * Tables of fixed-size rows in one buffer. The fields of a row are neighbours, so a command that
 * uses most of them needs one cache line. Row 0 is never used: 0 in a field for a row number means
 * "none".
 *
 * `tableOf` turns a list of fields into a class with accessors: `lots(row)`, `setLots(row, value)`,
 * `addLots(row, change)`. Their code is generated and as fast as a typed array; accessors that
 * compute a field's place at run time were five times slower. All names and places come from the
 * source code, never from input.
 *
 * Call `touch(row)` before changing a row, so that an atomic batch can be undone.
 */
import type { Archive } from './archive.js';
import type { Undoable, UndoLog } from './undo.js';

/** f64: a safe integer; f64x2: two, by outcome; i32: a 32-bit integer. */
export type FieldType = 'f64' | 'f64x2' | 'i32';
export type Fields = Readonly<Record<string, FieldType>>;

type Getter<T extends FieldType> = T extends 'f64x2'
  ? (row: number, index: number) => number
  : (row: number) => number;
type Change<T extends FieldType> = T extends 'f64x2'
  ? (row: number, index: number, value: number) => void
  : (row: number, value: number) => void;

export type Accessors<F extends Fields> = {
  readonly [K in keyof F]: Getter<F[K]>;
} & {
  readonly [K in keyof F & string as `set${Capitalize<K>}`]: Change<F[K]>;
} & {
  readonly [K in keyof F & string as `add${Capitalize<K>}`]: Change<F[K]>;
};

const FIRST_CAPACITY = 16;
/**
 * Bytes before row 0. V8 gets large buffers from the C library, and glibc places them 16 bytes
 * after the start of a page. With this margin a row of 64 bytes is in one cache line instead of
 * two. Only speed depends on it.
 */
const MARGIN_BYTES = 48;
/** Places of a pool's counters in its block. */
const FIRST_FREE = 0;
const ROWS = 1;
const USED = 2;

export class Table implements Undoable {
  protected f64: Float64Array;
  protected i32: Int32Array;
  private readonly rowWords: number;

  constructor(
    protected readonly undo: UndoLog,
    private readonly rowBytes: number,
  ) {
    this.rowWords = rowBytes / 4;
    const buffer = bufferFor(FIRST_CAPACITY * rowBytes);
    this.f64 = new Float64Array(buffer, MARGIN_BYTES);
    this.i32 = new Int32Array(buffer, MARGIN_BYTES);
  }

  /** Call it before every change of a row. */
  touch(row: number): void {
    if (this.undo.recording) this.recordImage(row);
  }

  clear(row: number): void {
    const { f64, rowWords } = this;
    const start = (row * rowWords) / 2;
    // A loop is faster than `fill` for so few numbers.
    for (let at = start; at < start + rowWords / 2; at++) f64[at] = 0;
  }

  /** Makes rows 0 to `rows` - 1 exist; new ones are 0. */
  ensure(rows: number): void {
    const capacity = this.i32.length / this.rowWords;
    if (rows <= capacity) return;
    const buffer = bufferFor(Math.max(rows, capacity * 2) * this.rowBytes);
    const i32 = new Int32Array(buffer, MARGIN_BYTES);
    i32.set(this.i32);
    this.i32 = i32;
    this.f64 = new Float64Array(buffer, MARGIN_BYTES);
  }

  restore(row: number, imageAt: number): void {
    const start = row * this.rowWords;
    for (let i = 0; i < this.rowWords; i++) this.i32[start + i] = this.undo.imageAt(imageAt + i);
  }

  /** Archives rows `from` to `to` - 1. */
  archiveRows(archive: Archive, from: number, to: number): void {
    this.ensure(to);
    archive.span(this.bytesOfRows(), from * this.rowBytes, (to - from) * this.rowBytes);
  }

  /** All rows as bytes, until the table grows. */
  protected bytesOfRows(): Uint8Array {
    return new Uint8Array(this.i32.buffer, MARGIN_BYTES);
  }

  private recordImage(row: number): void {
    this.undo.recordImage(this, row, this.i32, row * this.rowWords, this.rowWords);
  }
}

function bufferFor(bytes: number): ArrayBuffer {
  return new ArrayBuffer(MARGIN_BYTES + bytes);
}

/** A table that allocates and frees rows. The row freed last is reused first. */
export class PooledTable extends Table {
  private readonly counts: Float64Array;

  constructor(undo: UndoLog, rowBytes: number) {
    super(undo, rowBytes);
    this.counts = undo.block(3);
    this.counts[ROWS] = 1;
  }

  get used(): number {
    return this.counts[USED]!;
  }

  get rows(): number {
    return this.counts[ROWS]!;
  }

  /** The next free row. Rows in use may have another use for the field. */
  declare protected freeLink: (row: number) => number;
  declare protected setFreeLink: (row: number, next: number) => void;

  take(): number {
    const { counts } = this;
    counts[USED]! += 1;
    const free = counts[FIRST_FREE]!;
    if (free !== 0) {
      counts[FIRST_FREE] = this.freeLink(free);
      this.touch(free);
      return free;
    }
    const row = counts[ROWS]!;
    counts[ROWS] = row + 1;
    this.ensure(row + 1);
    this.touch(row);
    return row;
  }

  giveBack(row: number): void {
    const { counts } = this;
    counts[USED]! -= 1;
    this.touch(row);
    this.setFreeLink(row, counts[FIRST_FREE]!);
    counts[FIRST_FREE] = row;
  }

  archive(archive: Archive): void {
    for (let i = 0; i < this.counts.length; i++) this.counts[i] = archive.number(this.counts[i]!);
    this.archiveRows(archive, 0, this.rows);
  }
}

type TableClass<F extends Fields> = new (undo: UndoLog) => Table & Accessors<F>;
type PooledTableClass<F extends Fields> = new (undo: UndoLog) => PooledTable & Accessors<F>;

/** A table with these fields, which take at most `rowBytes` (a power of two) together. */
export function tableOf<const F extends Fields>(rowBytes: number, fields: F): TableClass<F> {
  return build(Table, rowBytes, fields, '') as TableClass<F>;
}

/** A table with a pool of rows; the field `freeLink` (i32) links the free ones. */
export function pooledTableOf<const F extends Fields>(
  rowBytes: number,
  fields: F,
  freeLink: keyof F & string,
): PooledTableClass<F> {
  const methods = `
    freeLink(row) { return this.${freeLink}(row); }
    setFreeLink(row, next) { this.set${capitalized(freeLink)}(row, next); }`;
  return build(PooledTable, rowBytes, fields, methods) as PooledTableClass<F>;
}

function build(base: unknown, rowBytes: number, fields: Fields, methods: string): unknown {
  const source = `return class extends Base {
    constructor(undo) { super(undo, ${rowBytes}); }
    ${accessors(rowBytes, fields)}
    ${methods}
  }`;
  return new Function('Base', source)(base);
}

/**
 * The doubles come first, so that each of them is aligned. Places are joined by `|`, whose result
 * needs no check for overflow.
 */
function accessors(rowBytes: number, fields: Fields): string {
  const names = Object.keys(fields);
  const methods: string[] = [];
  let bytes = 0;
  for (const name of names.filter((each) => fields[each] !== 'i32')) {
    const isPair = fields[name] === 'f64x2';
    const row = `(row << ${Math.log2(rowBytes / 8)} | ${bytes / 8})`;
    methods.push(isPair ? pair(name, `${row} + index`) : single(name, 'f64', row));
    bytes += isPair ? 16 : 8;
  }
  for (const name of names.filter((each) => fields[each] === 'i32')) {
    const row = `row << ${Math.log2(rowBytes / 4)} | ${bytes / 4}`;
    methods.push(single(name, 'i32', row));
    bytes += 4;
  }
  if (bytes > rowBytes || !Number.isInteger(Math.log2(rowBytes / 4)))
    throw new Error(`fields of ${bytes} bytes do not fit into rows of ${rowBytes}`);
  return methods.join('\n');
}

function single(name: string, view: string, place: string): string {
  return `${name}(row) { return this.${view}[${place}]; }
    set${capitalized(name)}(row, value) { this.${view}[${place}] = value; }
    add${capitalized(name)}(row, change) { this.${view}[${place}] += change; }`;
}

function pair(name: string, place: string): string {
  return `${name}(row, index) { return this.f64[${place}]; }
    set${capitalized(name)}(row, index, value) { this.f64[${place}] = value; }
    add${capitalized(name)}(row, index, change) { this.f64[${place}] += change; }`;
}

function capitalized(name: string): string {
  return name[0]!.toUpperCase() + name.slice(1);
}
