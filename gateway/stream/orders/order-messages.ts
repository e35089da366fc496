/** The stream's two order messages: schemas like POST /batch, and their conversion to commands. */
import { z } from 'zod';
import type { Batch, BatchOperation } from '../../../engine/interface/commands.js';
import type { Assets } from '../../../engine/interface/notation.js';
import { type ErrorAnswer, errorAnswer, invalidRequest } from '../../commands/errors.js';
import { CLIENT_ID, NO_CLIENT_ID } from '../../json/fields.js';
import type { FieldProblems } from '../../json/problems.js';
import { FAILED, JsonScanner, namesOf } from '../../json/scanner.js';
import {
  BatchBody,
  missingOfOperations,
  operationNamesAnotherUser,
  readOperations,
  SentOperation,
} from '../../resources/batch/requests.js';
import { op } from '../../resources/orders/operations.js';
import { OperationReader } from '../../resources/orders/reader.js';

export interface OrderRequest {
  id: string;
  command: Batch | BatchOperation;
  /** Replaces the command's idempotency key; 0 if not used. */
  clientSequence: number;
}

const REQUEST_ID_MAX = 64;

const ID_LENGTH = `must have 1 to ${REQUEST_ID_MAX} characters`;
export const requestId = z
  .string()
  .min(1, ID_LENGTH)
  .max(REQUEST_ID_MAX, ID_LENGTH)
  .describe('Repeated in the answers to this request');

const idempotencyKey = z
  .string()
  .regex(CLIENT_ID, NO_CLIENT_ID)
  .optional()
  .describe('Like the header Idempotency-Key over HTTP');

const clientSequence = z
  .int('must be a whole number')
  .min(1, 'must be at least 1')
  .optional()
  .describe('Like the header Client-Sequence over HTTP');

const { operations, atomic } = BatchBody.shape;

export const OrderMessage = z.strictObject({
  op: op('order'),
  id: requestId,
  operation: SentOperation,
  idempotencyKey,
  clientSequence,
});
export const BatchMessage = z.strictObject({
  op: op('batch'),
  id: requestId,
  operations,
  atomic,
  idempotencyKey,
  clientSequence,
});
export type OrderEntryMessage = z.output<typeof OrderMessage> | z.output<typeof BatchMessage>;

export function isOrderEntry(json: unknown): json is { op: 'order' | 'batch' } {
  const op = typeof json === 'object' && json !== null ? (json as { op?: unknown }).op : undefined;
  return op === 'order' || op === 'batch';
}

/** Whether an unvalidated message names a user other than `subject` in an operation. */
export function namesAnotherUser(json: object, subject: string): boolean {
  return operationNamesAnotherUser(asBatch(json), subject);
}

export function missingFields(json: object, add: (name: string, problem: string) => void): void {
  const name = nameOf(json);
  missingOfOperations(asBatch(json), (field, problem) => add(name(field), problem));
}

export function orderRequest(
  assets: Assets,
  userId: number,
  message: OrderEntryMessage,
): OrderRequest | ErrorAnswer {
  const { id, idempotencyKey = null, clientSequence = 0 } = message;
  if (idempotencyKey !== null && clientSequence !== 0)
    return invalidRequest({ clientSequence: 'cannot be sent together with idempotencyKey' });
  const operations = message.op === 'order' ? [message.operation] : message.operations;
  const { commands, problems } = readOperations(assets, userId, operations);
  if (problems !== null) return invalidRequest(renamed(problems, nameOf(message)));
  const isBatch = message.op === 'batch';
  const atomic = isBatch && message.atomic === true;
  return {
    id,
    clientSequence,
    command: commandOf(isBatch, userId, idempotencyKey, commands, atomic),
  };
}

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
const OPS = namesOf(['order', 'batch']);
const bitsOf = (...names: (typeof FIELDS)[number][]) =>
  names.reduce((bits, name) => bits | (1 << FIELDS.indexOf(name)), 0);
const KEY_BITS = bitsOf('idempotencyKey', 'clientSequence');
const OPTIONAL_BITS = [KEY_BITS, KEY_BITS | bitsOf('atomic')];
const REQUIRED_BITS = [bitsOf('op', 'id', 'operation'), bitsOf('op', 'id', 'operations')];

/** Reads order entry straight from bytes. `null`: the schemas must check the message. */
export class OrderRequestReader {
  private readonly scanner = new JsonScanner();
  private readonly operations = new OperationReader(this.scanner);
  private assets!: Assets;
  private userId = 0;
  private isBatch = 0;
  private id = '';
  private key: string | null = null;
  private clientSequence = 0;
  private atomic = false;
  private list: BatchOperation[] = [];
  private readonly readField = (index: number) => this.readValue(FIELDS[index]!);

  read(assets: Assets, bytes: Uint8Array, userId: number): OrderRequest | null {
    const { scanner } = this;
    this.assets = assets;
    this.userId = userId;
    this.key = null;
    this.clientSequence = 0;
    this.atomic = false;
    scanner.begin(bytes);
    const seen = scanner.object(NAMES, this.readField);
    const request = scanner.finish() && seen !== FAILED ? this.request(seen) : null;
    this.list = [];
    return request;
  }

  private readValue(name: (typeof FIELDS)[number]): void {
    const { scanner, operations, assets, userId } = this;
    switch (name) {
      case 'op':
        this.isBatch = scanner.word(OPS);
        return;
      case 'id':
        this.id = scanner.textValue();
        if (this.id === '' || this.id.length > REQUEST_ID_MAX) scanner.fail();
        return;
      case 'idempotencyKey':
        this.key = scanner.textValue();
        if (!CLIENT_ID.test(this.key)) scanner.fail();
        return;
      case 'clientSequence':
        this.clientSequence = scanner.decimal(0);
        if (this.clientSequence === 0) scanner.fail();
        return;
      case 'atomic':
        this.atomic = scanner.boolean() === 1;
        return;
      case 'operation':
        this.take(toList(operations.next(assets, userId)));
        return;
      case 'operations':
        this.take(operations.list(assets, userId));
    }
  }

  private take(list: BatchOperation[] | null): void {
    if (list === null) this.scanner.fail();
    else this.list = list;
  }

  private request(seen: number): OrderRequest | null {
    const { isBatch, id, clientSequence, key, atomic, list, userId } = this;
    const isComplete = (seen & ~OPTIONAL_BITS[isBatch]!) === REQUIRED_BITS[isBatch];
    if (!isComplete || (seen & KEY_BITS) === KEY_BITS) return null;
    return { id, clientSequence, command: commandOf(isBatch === 1, userId, key, list, atomic) };
  }
}

const toList = (operation: BatchOperation | null) => (operation === null ? null : [operation]);

function commandOf(
  isBatch: boolean,
  userId: number,
  idempotencyKey: string | null,
  operations: BatchOperation[],
  atomic: boolean,
): OrderRequest['command'] {
  if (isBatch) return { kind: 'batch', userId, idempotencyKey, operations, atomic };
  const command = operations[0]!;
  command.idempotencyKey = idempotencyKey;
  return command;
}

export function tooManyUnanswered(outstandingMax: number): ErrorAnswer {
  const message = `The connection has ${outstandingMax} unanswered requests, which is the limit.`;
  return errorAnswer('limit_reached', { limit: 'unanswered' }, message);
}

/** Converts a single operation to a batch of one, whose fields are named `operations.0.price`. */
function asBatch(json: object): object {
  return 'operation' in json ? { operations: [json.operation] } : json;
}

/** Maps field names of {@link asBatch} back to those of the sent message. */
function nameOf(json: object): (name: string) => string {
  return 'operation' in json
    ? (name) => name.replace(/^operations\.0\b/, 'operation')
    : (name) => name;
}

function renamed(problems: FieldProblems, name: (name: string) => string): FieldProblems {
  return Object.fromEntries(Object.entries(problems).map(([key, text]) => [name(key), text]));
}
