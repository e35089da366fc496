/** The response bodies of the routes of operators. */
import { z } from 'zod';
import { responseSchema } from '../../json/components.js';
import { sequence, timeMs } from '../../json/response-fields.js';

export const Health = responseSchema('Health', z.strictObject({ status: z.literal('ok') }));

export const Ready = responseSchema(
  'Ready',
  z.strictObject({
    status: z.literal('ready'),
    warning: z
      .string()
      .optional()
      .describe(
        'Trading continues, but something is failing and is retried. The log has the details.',
      ),
  }),
);

export const Status = responseSchema(
  'Status',
  z.strictObject({
    version: z.string(),
    sequence,
    durableSequence: sequence,
    digest: z.string().regex(/^[0-9a-f]{16}$/),
    startedAtMs: timeMs,
  }),
);

export const MetricsText = responseSchema(
  'MetricsText',
  z.string().meta({ description: 'The Prometheus text format, version 0.0.4' }),
);
