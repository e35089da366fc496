/**
 * Parses admitted requests. Where the route allows it, a command is read straight from the body's
 * bytes; otherwise schemas parse body, key and query. Checks return false after refusing.
 */
import { numberedKey } from '../../engine/interface/client-sequence.js';
import type { Command } from '../../engine/interface/commands.js';
import { errorAnswer, invalidRequest } from '../commands/errors.js';
import { checkFields, checkJson } from '../json/checks.js';
import { NO_CLIENT_ID } from '../json/fields.js';
import type { FieldProblems } from '../json/problems.js';
import { JSON_TYPE } from './answers/response-head.js';
import type { ReceivedBody } from './body.js';
import type { Call } from './call.js';
import { CLIENT_SEQUENCE, type CommandContext, IDEMPOTENCY_KEY, keyOf } from './request.js';
import type { Route } from './route.js';

const UNKNOWN_ENCODING = errorAnswer(
  'unsupported_media_type',
  {},
  'Send the body without a Content-Encoding: compressed bodies are not read.',
);
/** A number that no route's parameters exceed. */
const PARAMETERS_MAX = 32;
const TOO_MANY_PARAMETERS = invalidRequest({
  query: `has more than ${PARAMETERS_MAX} parameters`,
});
const MIN_SEQUENCE_NAME = 'minSequence';
const MIN_SEQUENCE = /^\d{1,16}$/;
const JSON_IN_UTF8 = /^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i;

export function read(call: Call, route: Route, body: ReceivedBody): boolean {
  call.command = readCommand(call, route, body);
  if (call.command !== null) return true;
  if (hasTooMany(call.request.rawQuery)) return call.refuseNow(TOO_MANY_PARAMETERS);
  if (!readMe(call, route)) return false;
  if (namesAnotherUser(call, route, body)) return call.refuseNow(errorAnswer('user_mismatch'));
  return readBody(call, route, body) && readQuery(call, route);
}

/** The command needs no further checks. If `null`, {@link read} must check the request. */
export function readCommand(
  context: CommandContext,
  route: Route,
  body: ReceivedBody,
): Command | null {
  if (route.command === undefined) return null;
  const { rawQuery, contentType, contentEncoding } = context.request;
  const isJson = contentType === JSON_TYPE || body.bytes.length === 0;
  if (rawQuery !== '' || !isJson || contentEncoding !== '' || body.tooLarge) return null;
  return readKey(context, route) === null ? route.command.read(context, body.bytes) : null;
}

function hasTooMany(rawQuery: string): boolean {
  let count = 1;
  for (let at = rawQuery.indexOf('&'); at >= 0; at = rawQuery.indexOf('&', at + 1)) count++;
  return count > PARAMETERS_MAX;
}

function readMe(call: Call, { userParameter }: Route): boolean {
  const { request, session } = call;
  if (userParameter === undefined || request.parameter(userParameter) !== 'me') return true;
  if (session === null) return call.refuseNow(errorAnswer('missing_token'));
  request.replaceParameter(userParameter, `u${session.userId}`);
  return true;
}

/** For partners, path or body name the user. Schemas refuse a `userId` that is not a string. */
function namesAnotherUser(call: Call, route: Route, body: ReceivedBody): boolean {
  const { request, session } = call;
  const json = route.body === undefined ? undefined : body.json;
  const inBody = userIdIn(json);
  if (route.access === 'partner') {
    const named = route.body === undefined ? request.parameter('id') : inBody;
    return typeof named === 'string' && namesOther(request.rawQuery, named);
  }
  if (session === null) return false;
  const own = `u${session.userId}`;
  const { userParameter } = route;
  if (userParameter !== undefined && request.parameter(userParameter) !== own) return true;
  if (namesOther(request.rawQuery, own)) return true;
  if (typeof inBody === 'string' && inBody !== own) return true;
  return typeof json === 'object' && json !== null && route.namesAnotherUser?.(json, own) === true;
}

function userIdIn(json: unknown): unknown {
  return typeof json === 'object' && json !== null
    ? (json as { userId?: unknown }).userId
    : undefined;
}

function namesOther(rawQuery: string, userId: string): boolean {
  if (rawQuery === '') return false;
  return new URLSearchParams(rawQuery).getAll('userId').some((id) => id !== userId);
}

function readBody(call: Call, route: Route, body: ReceivedBody): boolean {
  if (route.body === undefined) return true;
  const { contentType, contentEncoding } = call.request;
  if (body.tooLarge) return call.refuseNow(errorAnswer('body_too_large'));
  const isJson = contentType === JSON_TYPE || JSON_IN_UTF8.test(contentType);
  // Empty bodies have no media type.
  if (!isJson && body.bytes.length > 0)
    return call.refuseNow(errorAnswer('unsupported_media_type'));
  if (contentEncoding !== '' && contentEncoding.toLowerCase() !== 'identity') {
    call.addHeader('Accept-Encoding', 'identity');
    return call.refuseNow(UNKNOWN_ENCODING);
  }
  const { json, text = '', colons } = body;
  if (json === undefined) return call.refuseNow(errorAnswer('invalid_json'));
  // If an invalid key were ignored, a client that relies on it could execute an order twice.
  const problems = readKey(call, route);
  if (problems !== null) return call.refuseNow(invalidRequest(problems));
  const checked = checkJson(route.body, { json, text, colons }, 'body', route.missing);
  if (checked.problems !== null) return call.refuseNow(invalidRequest(checked.problems));
  call.body = checked.value;
  return true;
}

/** Returns `null` if neither has a problem. */
function readKey(context: CommandContext, route: Route): FieldProblems | null {
  const { idempotencyKeys, idempotencyKey, clientSequences, clientSequence } = context.request;
  if (route.idempotent !== true || idempotencyKeys + clientSequences === 0) return null;
  if (clientSequences === 0) {
    const problem = keyProblem(idempotencyKeys, idempotencyKey);
    if (problem !== null) return { 'Idempotency-Key': problem };
    context.idempotencyKey = keyOf(idempotencyKey);
    return null;
  }
  const problem =
    idempotencyKeys > 0
      ? 'cannot be sent together with Idempotency-Key'
      : sequenceProblem(clientSequences, clientSequence);
  if (problem !== null) return { 'Client-Sequence': problem };
  context.idempotencyKey = numberedKey(context.tokenId, Number(clientSequence));
  return null;
}

function sequenceProblem(count: number, text: string): string | null {
  if (count > 1) return 'is duplicated';
  return CLIENT_SEQUENCE.test(text) && Number.isSafeInteger(Number(text))
    ? null
    : `must be a whole number from 1 to ${Number.MAX_SAFE_INTEGER}`;
}

function keyProblem(count: number, key: string): string | null {
  if (count > 1) return 'is duplicated';
  return IDEMPOTENCY_KEY.test(key) ? null : `${NO_CLIENT_ID} (optionally in double quotes)`;
}

/** Each route's parsed empty query, which is always the same. */
const emptyQueries = new WeakMap<Route, unknown>();

function readQuery(call: Call, route: Route): boolean {
  const { rawQuery, minSequence } = call.request;
  if (minSequence !== '' && !readMinSequence(call, route, minSequence)) return false;
  if (rawQuery === '') call.query = emptyQueries.get(route);
  if (call.query !== undefined) return true;
  const fields: Record<string, string> = Object.create(null);
  for (const [name, value] of new URLSearchParams(rawQuery)) {
    if (name in fields) return call.refuseNow(invalidRequest({ [name]: 'is duplicated' }));
    fields[name] = value;
  }
  const asked = fields[MIN_SEQUENCE_NAME];
  if (asked !== undefined && route.body === undefined) {
    if (!readMinSequence(call, route, asked)) return false;
    delete fields[MIN_SEQUENCE_NAME];
  }
  const missing = route.body === undefined ? route.missing : undefined;
  const checked = checkFields(route.query, fields, 'query', missing);
  if (checked.problems !== null) return call.refuseNow(invalidRequest(checked.problems));
  call.query = checked.value;
  if (rawQuery === '') emptyQueries.set(route, Object.freeze(checked.value));
  return true;
}

/** All reads accept `minSequence` in the query or header. Changes ignore it. */
function readMinSequence(call: Call, route: Route, text: string): boolean {
  if (route.body !== undefined) return true;
  const sequence = MIN_SEQUENCE.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(sequence))
    return call.refuseNow(invalidRequest({ minSequence: 'must be a sequence, such as 901' }));
  call.namesSequence = true;
  call.minSequence = Math.max(call.minSequence, sequence);
  return true;
}
