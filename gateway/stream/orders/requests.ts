/**
 * Order entry over the stream: the schemas of its two messages, and the commands made from them.
 * Operations are those of POST /batch, with its schemas, its rules and its messages.
 */
import { z } from 'zod';
import type { Batch, BatchOperation } from '../../../engine/interface/commands.js';
import type { Assets } from '../../../engine/interface/notation.js';
import { type ErrorAnswer, errorAnswer, invalidRequest } from '../../http/errors.js';
import { CLIENT_ID, NO_CLIENT_ID } from '../../json/fields.js';
import type { FieldProblems } from '../../json/problems.js';
import {
  BatchBody,
  missingOfOperations,
  Operation,
  operationNamesAnother,
  readOperations,
} from '../../resources/batch/requests.js';

/** A request of the stream that is ready to be executed. */
export interface OrderRequest {
  id: string;
  command: Batch | BatchOperation;
  /** In place of a key, which the command then lacks; 0: none. */
  clientSequence: number;
}

/** The most characters of a request's id. */
export const REQUEST_ID_MAX = 64;

const ID_LENGTH = `must have 1 to ${REQUEST_ID_MAX} characters`;
export const requestId = z
  .string()
  .min(1, ID_LENGTH)
  .max(REQUEST_ID_MAX, ID_LENGTH)
  .meta({ description: 'Repeated by the answers to this request' });

const idempotencyKey = z
  .string()
  .regex(CLIENT_ID, NO_CLIENT_ID)
  .optional()
  .meta({ description: 'As the header Idempotency-Key over HTTP' });

const clientSequence = z
  .int('must be a whole number')
  .min(1, 'must be at least 1')
  .optional()
  .meta({ description: 'As the header Client-Sequence over HTTP' });

const { operations, atomic } = BatchBody.shape;

/** One operation. Its receipt is that of the operation's own route. */
export const OrderMessage = z.strictObject({
  op: z.literal('order'),
  id: requestId,
  operation: Operation,
  idempotencyKey,
  clientSequence,
});
/** The operations of POST /batch. */
export const BatchMessage = z.strictObject({
  op: z.literal('batch'),
  id: requestId,
  operations,
  atomic,
  idempotencyKey,
  clientSequence,
});
export type OrderEntryMessage = z.output<typeof OrderMessage> | z.output<typeof BatchMessage>;

/** Whether an unvalidated message is order entry. */
export function isOrderEntry(json: unknown): json is { op: 'order' | 'batch' } {
  const op = typeof json === 'object' && json !== null ? (json as { op?: unknown }).op : undefined;
  return op === 'order' || op === 'batch';
}

/** Whether an operation of an unvalidated message names a user other than `subject`. */
export function namesAnother(json: object, subject: string): boolean {
  return operationNamesAnother(asBatch(json), subject);
}

/** What is required because of other fields, of a message that the schema refuses. */
export function missingFields(json: object, add: (name: string, problem: string) => void): void {
  const name = nameOf(json);
  missingOfOperations(asBatch(json), (field, problem) => add(name(field), problem));
}

/** The request of a valid message, or why it cannot be one. */
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
  if (message.op === 'order')
    return { id, clientSequence, command: { ...commands[0]!, idempotencyKey } };
  const { atomic = false } = message;
  return {
    id,
    clientSequence,
    command: { kind: 'batch', userId, idempotencyKey, operations: commands, atomic },
  };
}

/** The refusal of a connection's request above the limit of unanswered ones. */
export function tooManyUnanswered(outstandingMax: number): ErrorAnswer {
  const message = `The connection has ${outstandingMax} unanswered requests, which is the limit.`;
  return errorAnswer('limit_reached', {}, message);
}

export const NOT_SIGNED_IN = errorAnswer(
  'missing_token',
  {},
  'Orders require a session. Connect with the x-user-token header or the service-session cookie, or first send {"op":"auth","token":"..."}.',
);

/** A single operation as a batch of one, whose fields are named `operations.0.price`. */
function asBatch(json: object): object {
  return 'operation' in json ? { operations: [json.operation] } : json;
}

/** The name of a field of the batch in the message that was sent. */
function nameOf(json: object): (name: string) => string {
  return 'operation' in json
    ? (name) => name.replace(/^operations\.0\b/, 'operation')
    : (name) => name;
}

function renamed(problems: FieldProblems, name: (name: string) => string): FieldProblems {
  return Object.fromEntries(Object.entries(problems).map(([key, text]) => [name(key), text]));
}
