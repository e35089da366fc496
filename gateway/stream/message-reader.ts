/** Reads the messages of clients: JSON, then the schemas, as for the bodies of HTTP. */
import { type ErrorAnswer, errorAnswer, invalidRequest } from '../http/errors.js';
import { inexactNumber } from '../json/decimal.js';
import { addProblem, cut, fieldProblems, problemText } from '../json/problems.js';
import { colonCount, repeatedKey } from '../json/repeated-key.js';
import { isOrderEntry, missingFields } from './orders/requests.js';
import { ClientMessage } from './requests.js';

const BINARY = errorAnswer('invalid_json', {}, 'Send text messages, not binary ones.');
const NOT_JSON = errorAnswer(
  'invalid_json',
  {},
  'The message is not valid JSON. Send one JSON object.',
);

export interface ReceivedMessage {
  bytes: number;
  text: string;
  /** Number of colons in the text. */
  colons: number;
  /** undefined: there is none, because of the problem. */
  json: unknown;
  /** Why it is not JSON; null: it is. */
  problem: ErrorAnswer | null;
}

/** `bytes`: reused by the caller after this. */
export function readJson(bytes: ArrayBuffer, isBinary: boolean): ReceivedMessage {
  const buffer = Buffer.from(bytes);
  const message = { bytes: buffer.length, text: '', colons: 0, json: undefined };
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
export function parsed(
  received: Omit<ReceivedMessage, 'bytes' | 'problem'>,
): ClientMessage | ErrorAnswer {
  const { json, text, colons } = received;
  const repeated = repeatedKey(json, text, colons);
  if (repeated !== null) return invalidRequest({ [repeated]: 'is duplicated' });
  const result = ClientMessage.safeParse(json, { error: problemText });
  if (!result.success) {
    const problems = fieldProblems(result.error, 'message');
    if (isOrderEntry(json)) missingFields(json, (name, text) => addProblem(problems, name, text));
    return invalidRequest(problems);
  }
  const inexact = inexactNumber(text);
  return inexact === null
    ? result.data
    : invalidRequest({ message: `contains a number with too many digits: ${cut(inexact)}` });
}
