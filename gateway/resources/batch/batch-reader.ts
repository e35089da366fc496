/**
 * Reads a batch from the bytes of its body straight into its command. Like the reader of single
 * orders, it refuses nothing: what it does not take is null and goes through the schema.
 */
import type { Batch, BatchOperation } from '../../../engine/interface/commands.js';
import { MAX_BATCH_OPERATIONS } from '../../../engine/interface/limits.js';
import type { Assets } from '../../../engine/interface/notation.js';
import { END, JsonScanner, namesOf, START } from '../../json/scanner.js';
import { OrderReader } from '../orders/order-reader.js';

const FIELDS = namesOf(['userId', 'operations', 'atomic']);
const [USER_ID, OPERATIONS, ATOMIC] = [0, 1, 2];
const U = 117;

export class BatchReader {
  private readonly operation: OrderReader;

  /** `scanner`: of a caller that reads the text around the operations itself. */
  constructor(private readonly scanner = new JsonScanner()) {
    this.operation = new OrderReader(scanner);
  }

  /** null: not taken. */
  read(
    assets: Assets,
    bytes: Uint8Array,
    userId: number,
    idempotencyKey: string | null,
  ): Batch | null {
    const { scanner } = this;
    scanner.begin(bytes);
    const batch = this.readFields(assets, userId, idempotencyKey);
    return scanner.finish() ? batch : null;
  }

  private readFields(assets: Assets, userId: number, idempotencyKey: string | null): Batch | null {
    const { scanner } = this;
    let operations: BatchOperation[] | null = null;
    let atomic = false;
    let seen = 0;
    scanner.openObject();
    let index = START;
    for (;;) {
      index = scanner.field(FIELDS, index);
      if (index === END) break;
      if (index < 0 || (seen & (1 << index)) !== 0) return null;
      seen |= 1 << index;
      if (index === USER_ID) {
        if (scanner.id(U) !== userId) return null;
      } else if (index === ATOMIC) atomic = scanner.boolean() === 1;
      else if (index === OPERATIONS) {
        operations = this.readOperations(assets, userId);
        if (operations === null) return null;
      }
    }
    if (operations === null) return null;
    return { kind: 'batch', userId, idempotencyKey, operations, atomic };
  }

  /** The list of operations that is next in the text; null: not taken. */
  readOperations(assets: Assets, userId: number): BatchOperation[] | null {
    const operations: BatchOperation[] = [];
    while (this.scanner.element(operations.length === 0)) {
      const operation = this.readOperation(assets, userId);
      if (operation === null || operations.length === MAX_BATCH_OPERATIONS) return null;
      operations.push(operation);
    }
    return operations;
  }

  /** The operation that is next in the text; null: not taken. */
  readOperation(assets: Assets, userId: number): BatchOperation | null {
    return this.operation.nextOperation(assets, userId);
  }
}
