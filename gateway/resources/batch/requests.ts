/** The body of POST /batch: its schema and its reader. */
import { z } from 'zod';
import type { Batch, BatchOperation } from '../../../engine/interface/commands.js';
import { MAX_BATCH_OPERATIONS } from '../../../engine/interface/limits.js';
import type { Assets } from '../../../engine/interface/notation.js';
import { bodyObject, bodySchema } from '../../json/components.js';
import { own } from '../../json/fields.js';
import { type FieldProblems, Problems } from '../../json/problems.js';
import { FAILED, JsonScanner, namesOf } from '../../json/scanner.js';
import { userId as userIdField } from '../orders/fields.js';
import {
  givenIn,
  OPERATIONS,
  type OperationName,
  operationSchema,
  type Problem,
} from '../orders/operations.js';
import { OperationReader } from '../orders/reader.js';

/** The stream also accepts single operations. */
export const SentOperation = bodySchema(
  'BatchOperation',
  'An operation of a batch',
  z.discriminatedUnion('op', [
    operationSchema('buy', 'A buy'),
    operationSchema('sell', 'A sale of shares'),
    operationSchema('cancel', 'The cancellation of an order'),
    operationSchema('amend', 'New terms of an order'),
    operationSchema('cancelAll', 'The cancellation of all orders'),
    operationSchema('claim', 'A claim of winnings'),
    operationSchema('split', 'Turns dollars into complete sets of UP and DOWN shares'),
    operationSchema('merge', 'Turns complete sets of UP and DOWN shares into dollars'),
  ]),
);
export type SentOperation = z.output<typeof SentOperation>;

const COUNT = `must hold 1 to ${MAX_BATCH_OPERATIONS} operations`;

export const BatchBody = bodyObject('BatchBody', 'Operations to execute in order', {
  ...own,
  operations: z
    .array(SentOperation)
    .min(1, COUNT)
    .max(MAX_BATCH_OPERATIONS, COUNT)
    .describe('The operations, executed in this order'),
  atomic: z
    .boolean()
    .optional()
    .describe('Execute all operations or none; by default, each independently'),
});

type Unread = Record<string, unknown> & { op?: unknown };

/** The body may be invalid. */
function* unreadIn(body: object): Generator<[index: number, operation: Unread]> {
  const { operations } = body as { operations?: unknown };
  if (!Array.isArray(operations)) return;
  for (const [index, operation] of operations.entries())
    if (typeof operation === 'object' && operation !== null) yield [index, operation];
}

export function operationNamesAnotherUser(body: object, subject: string): boolean {
  for (const [, { userId }] of unreadIn(body))
    if (typeof userId === 'string' && userId !== subject) return true;
  return false;
}

export function missingOfOperations(body: object, problem: Problem): void {
  for (const [index, operation] of unreadIn(body)) {
    if (index >= MAX_BATCH_OPERATIONS) return;
    const ofOperation: Problem = (name, message) => problem(`operations.${index}.${name}`, message);
    const { op, marketId } = operation;
    if (marketId === undefined && op !== 'cancelAll') ofOperation('marketId', 'is required');
    if (typeof op === 'string' && Object.hasOwn(OPERATIONS, op))
      OPERATIONS[op as OperationName].missing?.(operation, ofOperation);
  }
}

export function readOperations(
  assets: Assets,
  userId: number,
  operations: readonly SentOperation[],
): { commands: BatchOperation[]; problems: FieldProblems | null } {
  const problems = new Problems();
  const commands = operations.map((sent, index) => {
    const operation = OPERATIONS[sent.op];
    const given = givenIn(operation, sent, assets, (name, message) =>
      problems.add(`operations.${index}.${name}`, message),
    );
    const place = { userId, idempotencyKey: null, marketId: given.marketId ?? 0 };
    return operation.command(place, given);
  });
  return { commands, problems: problems.found };
}

const FIELDS = namesOf(['operations', 'atomic', 'userId']);
const OPERATIONS_BIT = 1;

/** Reads straight from bytes; the schema handles all other batches. */
export class BatchReader {
  private readonly scanner = new JsonScanner();
  private readonly operations = new OperationReader(this.scanner);
  private assets!: Assets;
  private userId = 0;
  private list: BatchOperation[] | null = null;
  private atomic = false;
  private readonly readField = (index: number) => {
    const { scanner, assets, userId } = this;
    if (index === 0) {
      this.list = this.operations.list(assets, userId);
      if (this.list === null) scanner.fail();
    } else if (index === 1) this.atomic = scanner.boolean() === 1;
    else if (userIdField.scan(scanner, assets) !== userId) scanner.fail();
  };

  /** `null` if the schema must parse the body. */
  read(
    assets: Assets,
    bytes: Uint8Array,
    userId: number,
    idempotencyKey: string | null,
  ): Batch | null {
    const { scanner } = this;
    this.assets = assets;
    this.userId = userId;
    this.atomic = false;
    scanner.begin(bytes);
    const seen = scanner.object(FIELDS, this.readField);
    const { list: operations, atomic } = this;
    this.list = null;
    if (!scanner.finish() || seen === FAILED || (seen & OPERATIONS_BIT) === 0) return null;
    return { kind: 'batch', userId, idempotencyKey, operations: operations!, atomic };
  }
}
