/**
 * The start of every answer: its status, and the headers that all answers have. The headers are
 * built once and written as the value of the first, line breaks included: one call instead of six
 * saves time on every answer. They never contain anything that a client sent.
 */
import type { HttpResponse } from 'uWebSockets.js';

const LINES = [
  'Cache-Control: no-store',
  'X-Content-Type-Options: nosniff',
  'Referrer-Policy: no-referrer',
  "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy: same-origin',
];
/** One year, for answers over HTTPS. */
const SECURE_LINE = 'Strict-Transport-Security: max-age=31536000';

const STATUS_LINES: Record<number, string> = {
  201: '201 Created',
  204: '204 No Content',
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
};

/** Must come before the headers. uWebSockets.js writes 200 by itself. */
export function writeStatus(response: HttpResponse, status: number): void {
  if (status !== 200) response.writeStatus(STATUS_LINES[status]!);
}

export const JSON_TYPE = 'application/json';

interface Head {
  name: string;
  value: Uint8Array;
}

const heads = new Map<string, Head>();

/** Writes the headers. `contentType`: one of a few constants; empty if there is no body. */
export function writeHead(response: HttpResponse, contentType: string, isSecure: boolean): void {
  const key = isSecure ? `s${contentType}` : contentType;
  let head = heads.get(key);
  if (head === undefined) {
    head = makeHead(contentType, isSecure);
    heads.set(key, head);
  }
  response.writeHeader(head.name, head.value);
}

function makeHead(contentType: string, isSecure: boolean): Head {
  const lines = contentType === '' ? [...LINES] : [`Content-Type: ${contentType}`, ...LINES];
  if (isSecure) lines.push(SECURE_LINE);
  const [name, first] = lines[0]!.split(': ') as [string, string];
  return { name, value: Buffer.from([first, ...lines.slice(1)].join('\r\n'), 'latin1') };
}
