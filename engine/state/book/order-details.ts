/**
 * What an order has besides its place in the book, for orders that have any of it: the client's
 * name for it, its group, when it expires, and what it had filled before it came to rest. Other
 * orders have no details and pay nothing for them.
 *
 * Always holds: the details of an order stay until the next command after the one in which the
 * order ended, so that whoever reads the events of a command finds those of every order in them.
 */
import {
  MAX_CLIENT_ORDER_ID_LENGTH,
  MAX_ORDER_GROUPS,
  MAX_TIME_MS,
} from '../../interface/limits.js';
import { CHARACTERS_IN_INTEGER } from '../../interface/results.js';
import type { Archive } from '../../storage/archive.js';
import type { NumberBuffer } from '../../storage/number-buffer.js';
import { pooledTableOf } from '../../storage/table.js';
import type { Undoable, UndoLog } from '../../storage/undo.js';
import type { ClientOrderIds } from './client-order-ids.js';

const DetailTable = pooledTableOf(
  128,
  {
    orderId: 'f64',
    /** MAX_TIME_MS: it does not. */
    expiresAtMs: 'f64',
    /** What it filled before it last came to rest, and the fee for that. */
    filledLots: 'f64',
    valueMicros: 'f64',
    feeMicros: 'f64',
    /** The row of the clientOrderId in client-order-ids.ts, 0: none. */
    nameRow: 'i32',
    /**
     * How many characters it has: they are the second half of the row, a byte each. Above these
     * bits, the row of its group in order-groups.ts, 0: none.
     */
    lengthAndGroup: 'i32',
    /** The row of the resting order, 0: it does not rest. */
    order: 'i32',
    /** The place in expiries.ts, 0: none. */
    heapPlace: 'i32',
    /** The list of the group's resting orders, the first that came to rest first. */
    groupBefore: 'i32',
    groupAfter: 'i32',
  },
  'order',
);
const LENGTH_MASK = 0x7f;
const GROUP_SHIFT = 7;
if (MAX_CLIENT_ORDER_ID_LENGTH > LENGTH_MASK || MAX_ORDER_GROUPS >= 2 ** (31 - GROUP_SHIFT))
  throw new Error('a length and a group do not fit into a word');
const ROW_BYTES = 128;
const NAME_AT = 64;

export class OrderDetails extends DetailTable {
  /** The rows of orders that ended in this command. */
  private ended: number[] = [];
  /** Those rows by order id, made on request. */
  private endedById: Map<number, number> | null = null;
  private view: Uint8Array = new Uint8Array(0);
  private readonly endUndo: Undoable = {
    restore: () => {
      this.ended.pop();
      this.endedById = null;
    },
  };

  constructor(
    undo: UndoLog,
    private readonly names: ClientOrderIds,
  ) {
    super(undo);
  }

  /** A row for an order without a name that does not expire. */
  add(orderId: number): number {
    const row = this.take();
    this.clear(row);
    this.setOrderId(row, orderId);
    this.setExpiresAtMs(row, MAX_TIME_MS);
    return row;
  }

  /** Gives the order its name, `length` bytes; `nameRow` is where client-order-ids.ts has it. */
  setName(row: number, nameRow: number, bytes: Uint8Array, from: number, length: number): void {
    this.setNameRow(row, nameRow);
    this.setLengthAndGroup(row, length);
    const own = this.bytes();
    const at = row * ROW_BYTES + NAME_AT;
    for (let i = 0; i < length; i++) own[at + i] = bytes[from + i]!;
  }

  /** Puts an order that has its name, if any, into a group. */
  setGroup(row: number, group: number): void {
    this.addLengthAndGroup(row, group << GROUP_SHIFT);
  }

  /** The row of its group, 0: none. */
  group(row: number): number {
    return this.lengthAndGroup(row) >>> GROUP_SHIFT;
  }

  private nameLength(row: number): number {
    return this.lengthAndGroup(row) & LENGTH_MASK;
  }

  /** null: the order has none. */
  name(row: number): string | null {
    const length = this.nameLength(row);
    if (length === 0) return null;
    const at = row * ROW_BYTES + NAME_AT;
    return String.fromCharCode(...this.bytes().subarray(at, at + length));
  }

  /** Appends the order's name to a result (results.ts); nothing if it has none. */
  writeName(row: number, result: NumberBuffer): void {
    const from = (row * ROW_BYTES + NAME_AT) / Int32Array.BYTES_PER_ELEMENT;
    const length = Math.ceil(this.nameLength(row) / CHARACTERS_IN_INTEGER);
    for (let i = 0; i < length; i++) result.push(this.i32[from + i]!);
  }

  /** The order has ended. */
  end(row: number): void {
    if (this.nameRow(row) !== 0) this.names.orderEnded(this.nameRow(row));
    if (this.undo.recording) this.undo.record(this.endUndo, 0, 0);
    this.ended.push(row);
    this.endedById = null;
  }

  /** The row of an order that ended in this command, 0: none. */
  findEnded(orderId: number): number {
    if (this.ended.length === 0) return 0;
    this.endedById ??= new Map(this.ended.map((row) => [this.orderId(row), row]));
    return this.endedById.get(orderId) ?? 0;
  }

  get hasEnded(): boolean {
    return this.ended.length > 0;
  }

  /** The next command begins: forgets the orders that have ended. */
  forgetEnded(): void {
    for (const row of this.ended) this.giveBack(row);
    this.ended.length = 0;
    this.endedById = null;
  }

  override archive(archive: Archive): void {
    super.archive(archive);
    const count = archive.number(this.ended.length);
    if (archive.reading) this.ended = new Array(count).fill(0);
    for (let i = 0; i < count; i++) this.ended[i] = archive.number(this.ended[i]!);
    this.endedById = null;
  }

  /** The rows as bytes. */
  private bytes(): Uint8Array {
    if (this.view.buffer !== this.i32.buffer) this.view = this.bytesOfRows();
    return this.view;
  }
}
