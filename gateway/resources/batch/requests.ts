/**
 * The body of POST /batch: its schema, and the commands made from it. The rules are those of the
 * single routes.
 */
import { z } from 'zod';
import type { BatchOperation } from '../../../engine/interface/commands.js';
import { MAX_BATCH_OPERATIONS } from '../../../engine/interface/limits.js';
import { type Assets, idNumber, marketIdNumber } from '../../../engine/interface/notation.js';
import { bodySchema } from '../../json/components.js';
import { own } from '../../json/fields.js';
import type { FieldProblems } from '../../json/problems.js';
import { buyCommand, type OrderPlace, sellCommand } from '../orders/commands.js';
import {
  AMEND_RULES,
  amendFields,
  BUY_RULES,
  buyFields,
  clientOrderId,
  missingOfBuy,
  missingOfSell,
  type Problem,
  present,
  readAmendment,
  readBuy,
  readSell,
  SELL_RULES,
  sellFields,
} from '../orders/requests.js';

const marketId = z.string().meta({ description: 'The id of a market, such as btc-15m-1763700300' });
const common = { marketId, ...own };
const BuyOperation = z
  .strictObject({ op: z.literal('buy'), ...common, ...buyFields })
  .meta(BUY_RULES);
const SellOperation = z
  .strictObject({ op: z.literal('sell'), ...common, ...sellFields })
  .meta(SELL_RULES);
const orderId = z.string().meta({ description: 'The id of an order, such as o12' });
const CancelOperation = z
  .strictObject({
    op: z.literal('cancel'),
    ...common,
    orderId: orderId.optional(),
    clientOrderId: clientOrderId.optional(),
  })
  .meta({
    description: 'Either `orderId` or `clientOrderId`',
    oneOf: [
      { ...present('orderId'), not: present('clientOrderId') },
      { ...present('clientOrderId'), not: present('orderId') },
    ],
  });
const AmendOperation = z
  .strictObject({ op: z.literal('amend'), ...common, orderId, ...amendFields })
  .meta(AMEND_RULES);
const CancelAllOperation = z
  .strictObject({ op: z.literal('cancelAll'), ...own, marketId: marketId.optional() })
  .meta({ description: 'Cancels your resting orders, in all markets unless `marketId` names one' });
const ClaimOperation = z.strictObject({ op: z.literal('claim'), ...common });

/** One operation. The stream takes single ones, too. */
export const Operation = z.discriminatedUnion('op', [
  BuyOperation,
  SellOperation,
  CancelOperation,
  AmendOperation,
  CancelAllOperation,
  ClaimOperation,
]);
export type Operation = z.output<typeof Operation>;

const COUNT = `must hold 1 to ${MAX_BATCH_OPERATIONS} operations`;

export const BatchBody = bodySchema(
  'BatchBody',
  z.strictObject({
    ...own,
    operations: z.array(Operation).min(1, COUNT).max(MAX_BATCH_OPERATIONS, COUNT),
    atomic: z
      .boolean()
      .optional()
      .meta({ description: 'Execute all operations or none; default: each on its own' }),
  }),
);

/** Whether an operation names another user. The body may be invalid. */
export function operationNamesAnother(body: object, subject: string): boolean {
  const { operations } = body as { operations?: unknown };
  if (!Array.isArray(operations)) return false;
  for (const operation of operations as unknown[]) {
    if (typeof operation !== 'object' || operation === null) continue;
    const { userId } = operation as { userId?: unknown };
    if (typeof userId === 'string' && userId !== subject) return true;
  }
  return false;
}

/** Reports what is missing in the operations of a body that the schema refuses. */
export function missingOfOperations(body: object, problem: Problem): void {
  const { operations } = body as { operations?: unknown };
  if (!Array.isArray(operations)) return;
  for (const [index, operation] of operations.slice(0, MAX_BATCH_OPERATIONS).entries()) {
    if (typeof operation !== 'object' || operation === null) continue;
    const ofOperation: Problem = (name, message) => problem(`operations.${index}.${name}`, message);
    if (operation.marketId === undefined && operation.op !== 'cancelAll')
      ofOperation('marketId', 'is required');
    if (operation.op === 'buy') missingOfBuy(operation, ofOperation);
    else if (operation.op === 'sell') missingOfSell(operation, ofOperation);
    else if (operation.op === 'cancel') missingOfCancel(operation, ofOperation);
  }
}

/** The state of reading one batch. */
class Reading {
  /** The index of the operation that is being read. */
  index = 0;
  /** `operations.3.price` → what is wrong with it. */
  problems: FieldProblems | null = null;
  /**
   * The markets named so far. The last one is kept apart, because the next operation usually names
   * it again.
   */
  private readonly markets = new Map<string, number>();
  private lastName = '';
  private lastMarketId = 0;

  constructor(
    private readonly assets: Assets,
    readonly userId: number,
  ) {}

  /** 0 for a name that cannot be a market's. */
  marketOf(name: string): number {
    if (name !== this.lastName) {
      this.lastName = name;
      this.lastMarketId = this.markets.get(name) ?? this.marketNamed(name);
    }
    return this.lastMarketId;
  }

  private marketNamed(name: string): number {
    const marketId = marketIdNumber(this.assets, name);
    this.markets.set(name, marketId);
    return marketId;
  }

  /** Keeps the first problem of each field. */
  readonly problem: Problem = (name, message) => {
    this.problems ??= {};
    this.problems[`operations.${this.index}.${name}`] ??= message;
  };
}

/** The commands of the operations, in order, and the problems of all operations. */
export function readOperations(
  assets: Assets,
  userId: number,
  operations: readonly Operation[],
): { commands: BatchOperation[]; problems: FieldProblems | null } {
  const reading = new Reading(assets, userId);
  const commands: BatchOperation[] = [];
  for (let i = 0; i < operations.length; i++) {
    reading.index = i;
    commands.push(readOperation(reading, operations[i]!));
  }
  return { commands, problems: reading.problems };
}

function checkCancel(
  { orderId, clientOrderId }: z.output<typeof CancelOperation>,
  problem: Problem,
): void {
  if (orderId !== undefined && clientOrderId !== undefined)
    problem('clientOrderId', 'cannot be combined with orderId');
  missingOfCancel({ orderId, clientOrderId }, problem);
}

/** Reports what is missing in a cancellation; its schema names neither id. */
function missingOfCancel(
  { orderId, clientOrderId }: { orderId?: unknown; clientOrderId?: unknown },
  problem: Problem,
): void {
  if (orderId === undefined && clientOrderId === undefined)
    problem('orderId', 'is required (or clientOrderId)');
}

/** An impossible id becomes 0, which the engine does not find. */
function readOperation(reading: Reading, operation: Operation): BatchOperation {
  const { userId } = reading;
  if (operation.op === 'cancelAll' && operation.marketId === undefined)
    return { kind: 'cancelEverywhere', userId, idempotencyKey: null };
  const marketId = reading.marketOf(operation.marketId!);
  const place: OrderPlace = { userId, idempotencyKey: null, marketId };
  switch (operation.op) {
    case 'buy':
      return buyCommand(place, readBuy(operation, reading.problem));
    case 'sell':
      return sellCommand(place, readSell(operation, reading.problem));
    case 'cancel':
      checkCancel(operation, reading.problem);
      return {
        kind: 'cancel',
        userId,
        idempotencyKey: null,
        marketId,
        orderId: operation.orderId === undefined ? 0 : idNumber('o', operation.orderId),
        clientOrderId: operation.clientOrderId ?? null,
      };
    case 'cancelAll':
      return { kind: 'cancelAll', userId, idempotencyKey: null, marketId };
    case 'amend':
      return {
        kind: 'amend',
        userId,
        idempotencyKey: null,
        marketId,
        orderId: idNumber('o', operation.orderId),
        ...readAmendment(operation, reading.problem),
      };
    case 'claim':
      return { kind: 'claim', userId, idempotencyKey: null, marketId };
  }
}
