/**
 * Orders over the stream, with the operations, receipts, errors and retries of POST /batch. An
 * operation has one idempotency key and is executed at most once.
 */
import { bodyText, type CallOptions, randomKey } from '../api.js';
import { ConnectionError, ExchangeError } from '../errors.js';
import { DEFAULT_RETRIES, type Retries, repeated } from '../retries.js';
import type {
  AmendReceipt,
  BatchReceipt,
  BuyReceipt,
  CancelOrdersReceipt,
  CancelReceipt,
  ClaimReceipt,
  MergeReceipt,
  Operation,
  SellReceipt,
  SplitReceipt,
} from '../routes.js';
import type { Stream } from './stream.js';

export interface Receipts {
  buy: BuyReceipt;
  sell: SellReceipt;
  cancel: CancelReceipt;
  amend: AmendReceipt;
  cancelAll: CancelOrdersReceipt;
  claim: ClaimReceipt;
  split: SplitReceipt;
  merge: MergeReceipt;
}

export interface EntryOptions extends CallOptions {
  retries?: Partial<Retries>;
}

export function submit<Op extends Operation>(
  stream: Stream,
  operation: Op,
  options?: EntryOptions,
): Promise<Receipts[Op['op']]> {
  return enter(stream, { op: 'order', operation }, options);
}

/** Executes up to 100 operations in order without interruption. `atomic`: all or none. */
export function submitBatch(
  stream: Stream,
  operations: readonly Operation[],
  options?: EntryOptions & { atomic?: boolean },
): Promise<BatchReceipt> {
  const atomic = options?.atomic === true ? { atomic: true } : {};
  return enter(stream, { op: 'batch', operations, ...atomic }, options);
}

async function enter<Answer extends object>(
  stream: Stream,
  message: object,
  { signal, clientSequence, idempotencyKey = randomKey(), ...given }: EntryOptions = {},
): Promise<Answer> {
  const retries = { ...DEFAULT_RETRIES, ...given.retries };
  const isNumbered = clientSequence !== undefined;
  const name = isNumbered ? { clientSequence } : { idempotencyKey };
  const exact = JSON.parse(bodyText({ ...message, ...name }));
  const attempt = async () => {
    const timeout = AbortSignal.timeout(retries.timeoutMs);
    const either = signal ? AbortSignal.any([signal, timeout]) : timeout;
    try {
      return { answer: await stream.request<Answer>(exact, either, !isNumbered) };
    } catch (cause) {
      const isFinal = stream.failure !== null;
      if (cause instanceof ExchangeError) return { error: cause, isFinal };
      const key = isNumbered ? null : idempotencyKey;
      const maybe = cause !== stream.failure;
      const text = `no answer over the stream: ${(cause as Error).message}`;
      const reason = { cause: stream.failure ?? cause };
      return { error: new ConnectionError(text, maybe, key, reason), isFinal };
    }
  };
  return repeated(attempt, !isNumbered, retries, signal);
}
