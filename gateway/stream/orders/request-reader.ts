/**
 * Reads order entry from the bytes of a message: the envelope here, the operations with the reader
 * of POST /batch. Like that reader it refuses nothing: what it does not take, valid or not, is null
 * and goes through the schemas (requests.ts), which say what is wrong.
 */
import type { BatchOperation } from '../../../engine/interface/commands.js';
import type { Assets } from '../../../engine/interface/notation.js';
import { CLIENT_ID } from '../../json/fields.js';
import { END, FAILED, JsonScanner, namesOf, START } from '../../json/scanner.js';
import { BatchReader } from '../../resources/batch/batch-reader.js';
import { type OrderRequest, REQUEST_ID_MAX } from './requests.js';

const FIELDS = [
  'op',
  'id',
  'operation',
  'operations',
  'atomic',
  'idempotencyKey',
  'clientSequence',
] as const;
const NAMES = namesOf(FIELDS);
const BIT = Object.fromEntries(FIELDS.map((name, index) => [name, 1 << index])) as Record<
  (typeof FIELDS)[number],
  number
>;
const OPS = namesOf(['order', 'batch']);
const ORDER = 0;
const ORDER_BITS = BIT.op | BIT.id | BIT.operation;
const BATCH_BITS = BIT.op | BIT.id | BIT.operations;
const KEY_BITS = BIT.idempotencyKey | BIT.clientSequence;
const OPTIONAL_BITS = { order: KEY_BITS, batch: KEY_BITS | BIT.atomic };

export class OrderRequestReader {
  private readonly scanner = new JsonScanner();
  private readonly operations = new BatchReader(this.scanner);
  private seen = 0;
  private op = 0;
  private id = '';
  private key: string | null = null;
  private clientSequence = 0;
  private atomic = false;
  private list: BatchOperation[] = [];

  /** null: not taken. */
  read(assets: Assets, bytes: Uint8Array, userId: number): OrderRequest | null {
    const { scanner } = this;
    scanner.begin(bytes);
    const isRead = this.readFields(assets, userId);
    const request = scanner.finish() && isRead ? this.request(userId) : null;
    this.list = [];
    return request;
  }

  private readFields(assets: Assets, userId: number): boolean {
    const { scanner } = this;
    this.seen = 0;
    this.key = null;
    this.clientSequence = 0;
    this.atomic = false;
    scanner.openObject();
    let index = START;
    for (;;) {
      index = scanner.field(NAMES, index);
      if (index === END) return scanner.isFine;
      if (index === FAILED || (this.seen & (1 << index)) !== 0) return false;
      this.seen |= 1 << index;
      if (!this.readValue(1 << index, assets, userId)) return false;
    }
  }

  private readValue(bit: number, assets: Assets, userId: number): boolean {
    const { scanner } = this;
    switch (bit) {
      case BIT.op:
        this.op = scanner.word(OPS);
        return this.op !== FAILED;
      case BIT.id:
        this.id = this.readText();
        return this.id !== '' && this.id.length <= REQUEST_ID_MAX;
      case BIT.idempotencyKey:
        this.key = this.readText();
        return CLIENT_ID.test(this.key);
      case BIT.clientSequence:
        this.clientSequence = scanner.decimal(0);
        return this.clientSequence > 0;
      case BIT.atomic: {
        const value = scanner.boolean();
        this.atomic = value === 1;
        return value !== FAILED;
      }
      case BIT.operation: {
        const operation = this.operations.readOperation(assets, userId);
        if (operation !== null) this.list.push(operation);
        return operation !== null;
      }
      default: {
        const list = this.operations.readOperations(assets, userId);
        if (list !== null) this.list = list;
        return list !== null;
      }
    }
  }

  private readText(): string {
    const { scanner } = this;
    scanner.text();
    return scanner.isFine ? Buffer.from(scanner.textBytes()).toString('latin1') : '';
  }

  private request(userId: number): OrderRequest | null {
    const { seen, id, key: idempotencyKey, clientSequence, atomic, list } = this;
    const isOrder = this.op === ORDER;
    const required = isOrder ? ORDER_BITS : BATCH_BITS;
    const optional = isOrder ? OPTIONAL_BITS.order : OPTIONAL_BITS.batch;
    if ((seen & ~optional) !== required || (seen & KEY_BITS) === KEY_BITS) return null;
    if (!isOrder) {
      const batch = { kind: 'batch' as const, userId, idempotencyKey, operations: list, atomic };
      return { id, clientSequence, command: batch };
    }
    const command = list[0]!;
    command.idempotencyKey = idempotencyKey;
    return { id, clientSequence, command };
  }
}
