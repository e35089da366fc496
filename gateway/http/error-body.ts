/** The form of all errors. */
import { z } from 'zod';
import { responseSchema } from '../json/components.js';
import { ERROR_CODES } from './errors.js';

export const ErrorBody = responseSchema(
  'ErrorBody',
  z.strictObject({
    error: z.strictObject({
      code: z.enum(ERROR_CODES),
      message: z.string().meta({ description: 'For people' }),
      details: z.record(z.string(), z.unknown()).meta({
        description:
          'For invalid_request: each field and its problem; for insufficient_balance and insufficient_shares: required and available; for unavailable: executed, which is false',
      }),
    }),
  }),
);
