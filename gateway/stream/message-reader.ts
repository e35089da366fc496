/** Reads the messages of clients: JSON, then the schemas, as for the bodies of HTTP. */
import { unitsOfText } from '../access/fair-use/charges.js';
import { type ErrorAnswer, errorAnswer, invalidRequest } from '../http/errors.js';
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

/** `json` is undefined if there is a problem. */
export interface ReceivedMessage extends ReceivedJson {
  bytes: number;
  /** What it costs to read it. */
  units: number;
  /** Why it is not JSON; null: it is. */
  problem: ErrorAnswer | null;
}

/** `bytes`: reused by the caller after this. */
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

/** The message, or what is wrong with it. */
export function parsed(received: ReceivedJson): ClientMessage | ErrorAnswer {
  const missing = isOrderEntry(received.json) ? missingFields : undefined;
  const checked = checkJson(ClientMessage, received, 'message', missing);
  return checked.problems === null ? checked.value : invalidRequest(checked.problems);
}
