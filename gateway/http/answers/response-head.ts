/**
 * The status and common headers of every answer. The headers are built once and written as the
 * first header's value, line breaks included, in one call instead of six. They hold no client text.
 */
import type { HttpResponse } from 'uWebSockets.js';
import type { Request } from '../request.js';
import { NumberedBytes } from '../request-id.js';

/** Caches store only answers whose route allows it, and revalidate them each time. */
const NOT_KEPT = 'Cache-Control: no-store';
const KEPT = 'Cache-Control: no-cache';
const LINES = [
  'X-Content-Type-Options: nosniff',
  'Referrer-Policy: no-referrer',
  "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy: same-origin',
  // uWebSockets.js closes idle connections after 8 to 12 s.
  'Keep-Alive: timeout=8',
];
const SECURE_LINE = 'Strict-Transport-Security: max-age=31536000';

const STATUS_LINES: Record<number, string> = {
  201: '201 Created',
  204: '204 No Content',
  304: '304 Not Modified',
  400: '400 Bad Request',
  401: '401 Unauthorized',
  403: '403 Forbidden',
  404: '404 Not Found',
  405: '405 Method Not Allowed',
  409: '409 Conflict',
  413: '413 Content Too Large',
  415: '415 Unsupported Media Type',
  422: '422 Unprocessable Content',
  429: '429 Too Many Requests',
  503: '503 Service Unavailable',
  504: '504 Gateway Timeout',
};

/** Call before writing headers. uWebSockets.js itself writes the status 200. */
export function writeStatus(response: HttpResponse, status: number): void {
  if (status !== 200) response.writeStatus(STATUS_LINES[status]!);
}

export const JSON_TYPE = 'application/json';

interface Head {
  /** The first header's name. Its value contains the other headers. */
  name: string;
  value: Uint8Array;
  numbered: NumberedBytes;
}

const heads = new Map<string, Head>();
const jsonHead = headOf(JSON_TYPE, false);

/** `contentType` is one of a few constants, or empty without a body. */
export function writeHead(response: HttpResponse, contentType: string, isSecure: boolean): void {
  const { name, value } = headOf(contentType, isSecure);
  response.writeHeader(name, value);
}

/** `isKept`: caches may store the answer. */
export function writeHeadWithId(
  response: HttpResponse,
  contentType: string,
  isSecure: boolean,
  request: Request,
  isKept: boolean,
): void {
  const isUsual = contentType === JSON_TYPE && !isSecure && !isKept;
  const { name, value, numbered } = isUsual ? jsonHead : headOf(contentType, isSecure, isKept);
  if (request.hasClientId) {
    response.writeHeader(name, value);
    response.writeHeader('X-Request-Id', request.id);
  } else response.writeHeader(name, numbered.with(request.number));
}

function headOf(contentType: string, isSecure: boolean, isKept = false): Head {
  const key = `${isSecure ? 's' : ''}${isKept ? 'k' : ''} ${contentType}`;
  let head = heads.get(key);
  if (head === undefined) {
    head = makeHead(contentType, isSecure, isKept);
    heads.set(key, head);
  }
  return head;
}

function makeHead(contentType: string, isSecure: boolean, isKept: boolean): Head {
  const lines = [isKept ? KEPT : NOT_KEPT, ...LINES];
  if (contentType !== '') lines.unshift(`Content-Type: ${contentType}`);
  if (isSecure) lines.push(SECURE_LINE);
  const [name, first] = lines[0]!.split(': ') as [string, string];
  const value = [first, ...lines.slice(1)].join('\r\n');
  return {
    name,
    value: Buffer.from(value, 'latin1'),
    numbered: new NumberedBytes(`${value}\r\nX-Request-Id: `),
  };
}
