/** Parses client messages and checks them against the schemas, as for HTTP bodies. */
import { unitsOfText } from '../access/fair-use/charges.js';
import { type ErrorAnswer, errorAnswer, invalidRequest } from '../commands/errors.js';
import { checkJson, type ReceivedJson } from '../json/checks.js';
import { colonCount } from '../json/repeated-key.js';
import { ClientMessage } from './client-messages.js';
import { isOrderEntry, missingFields } from './orders/order-messages.js';

const BINARY = errorAnswer('invalid_json', {}, 'Send text messages, not binary ones.');
const NOT_JSON = errorAnswer(
  'invalid_json',
  {},
  'The message is not valid JSON. Send one JSON object.',
);

export interface ReceivedMessage extends ReceivedJson {
  bytes: number;
  units: number;
  /** Why the message is not JSON, or `null`. */
  problem: ErrorAnswer | null;
}

/** Copies `bytes`, which the caller reuses. */
export function readJson(bytes: ArrayBuffer, isBinary: boolean): ReceivedMessage {
  const buffer = Buffer.from(bytes);
  const units = unitsOfText(buffer);
  const message = { bytes: buffer.length, units, text: '', colons: 0, json: undefined };
  if (isBinary) return { ...message, problem: BINARY };
  const text = buffer.toString('utf8');
  try {
    const json = JSON.parse(text) as unknown;
    return { ...message, text, colons: colonCount(buffer), json, problem: null };
  } catch {
    return { ...message, problem: NOT_JSON };
  }
}

export function validateMessage(received: ReceivedJson): ClientMessage | ErrorAnswer {
  const missing = isOrderEntry(received.json) ? missingFields : undefined;
  const checked = checkJson(ClientMessage, received, 'message', missing);
  return checked.problems === null ? checked.value : invalidRequest(checked.problems);
}
