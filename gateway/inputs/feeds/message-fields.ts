/** Fields common to all venues' messages. Nothing here throws. */
import { z } from 'zod';
import type { FeedMessage } from './live.js';
import { parsePriceMicros } from './price-feed.js';

export const NOT_JSON: FeedMessage = { type: 'malformed', reason: 'not JSON' };

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function malformed(problem: z.ZodError): { type: 'malformed'; reason: string } {
  return { type: 'malformed', reason: z.prettifyError(problem) };
}

export const priceMicros = z.string().transform((text, context) => {
  const micros = parsePriceMicros(text);
  if (micros !== null) return micros;
  context.addIssue({
    code: 'custom',
    message: 'not a positive price with at most 6 decimal places',
  });
  return z.NEVER;
});

/** "2025-11-21T06:30:00.123456Z" as milliseconds, truncated. */
export const timeMs = z.iso.datetime({ offset: true }).transform((text) => Date.parse(text));
