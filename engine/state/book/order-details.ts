/**
 * Optional data of an order: its clientOrderId, its group, its expiry, and its fills before it
 * began to rest. Orders without any of these have no row here.
 *
 * Invariant: an order's details stay until the command after the one in which the order ended,
 * so that readers of a command's events find the details of every order in them.
 */
import {
  MAX_CLIENT_ORDER_ID_LENGTH,
  MAX_ORDER_GROUPS,
  MAX_TIME_MS,
} from '../../interface/limits.js';
import { CHARACTERS_IN_INTEGER } from '../../interface/results.js';
import { type Archive, archivedList } from '../../storage/archive.js';
import type { NumberBuffer } from '../../storage/number-buffer.js';
import { pooledTableOf } from '../../storage/table.js';
import type { Undoable, UndoLog } from '../../storage/undo.js';
import type { ClientOrderIds } from './client-order-ids.js';

const DetailTable = pooledTableOf(
  128,
  {
    orderId: 'f64',
    /** The order's expiry; MAX_TIME_MS if only the market's end ends it. */
    expiresAtMs: 'f64',
    /** The fills before the order last began to rest, and their fee. */
    filledLots: 'f64',
    valueMicros: 'f64',
    feeMicros: 'f64',
    /** The row of the clientOrderId in client-order-ids.ts; 0 if none. */
    nameRow: 'i32',
    /**
     * The length of the clientOrderId, which is in the second half of the row, one byte per
     * character. Above these bits, the row of the order's group in order-groups.ts; 0 if none.
     */
    lengthAndGroup: 'i32',
    /** The row of the resting order; 0 if the order does not rest. */
    order: 'i32',
    /** The place in expiries.ts; 0 if none. */
    heapPlace: 'i32',
    /** The list of the group's resting orders, in the order in which they began to rest. */
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
  /** The same rows by order id, built on request. */
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

  /** Adds a row without a name and without an expiry. */
  add(orderId: number): number {
    const row = this.take();
    this.clear(row);
    this.setOrderId(row, orderId);
    this.setExpiresAtMs(row, MAX_TIME_MS);
    return row;
  }

  /** `nameRow` is the row of the name in client-order-ids.ts. */
  setName(row: number, nameRow: number, bytes: Uint8Array, from: number, length: number): void {
    this.setNameRow(row, nameRow);
    this.setLengthAndGroup(row, length);
    const own = this.bytes();
    const at = row * ROW_BYTES + NAME_AT;
    for (let i = 0; i < length; i++) own[at + i] = bytes[from + i]!;
  }

  /** Call it after {@link setName}, if the order has a name. */
  setGroup(row: number, group: number): void {
    this.addLengthAndGroup(row, group << GROUP_SHIFT);
  }

  /** The row of the order's group; 0 if none. */
  group(row: number): number {
    return this.lengthAndGroup(row) >>> GROUP_SHIFT;
  }

  private nameLength(row: number): number {
    return this.lengthAndGroup(row) & LENGTH_MASK;
  }

  /** The order's client order id; null if it has none. */
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

  end(row: number): void {
    if (this.nameRow(row) !== 0) this.names.orderEnded(this.nameRow(row));
    if (this.undo.recording) this.undo.record(this.endUndo, 0, 0);
    this.ended.push(row);
    this.endedById = null;
  }

  /** The row of an order that ended in this command; 0 if there is none. */
  findEnded(orderId: number): number {
    if (this.ended.length === 0) return 0;
    this.endedById ??= new Map(this.ended.map((row) => [this.orderId(row), row]));
    return this.endedById.get(orderId) ?? 0;
  }

  get hasEnded(): boolean {
    return this.ended.length > 0;
  }

  /** Forgets the orders that ended in the last command. */
  forgetEnded(): void {
    for (const row of this.ended) this.giveBack(row);
    this.ended.length = 0;
    this.endedById = null;
  }

  override archive(archive: Archive): void {
    super.archive(archive);
    this.ended = archivedList(archive, this.ended, (row = 0) => archive.number(row));
    this.endedById = null;
  }

  private bytes(): Uint8Array {
    if (this.view.buffer !== this.i32.buffer) this.view = this.bytesOfRows();
    return this.view;
  }
}
