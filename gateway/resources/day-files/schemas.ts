/** The query and the response body of the list of the files of days. */
import { z } from 'zod';
import { responseSchema } from '../../json/components.js';
import * as request from '../../json/fields.js';
import { asset, count } from '../../json/response-fields.js';
import { asset as assetFilter } from '../markets/schemas.js';

export const DayFilesQuery = z.strictObject({ ...request.own, asset: assetFilter });

export const DayFile = responseSchema(
  'DayFile',
  'A file with the events of a day',
  z.strictObject({
    asset,
    date: z
      .string()
      .regex(/^\d{4}-\d\d-\d\d$/)
      .meta({ description: 'The UTC day' }),
    bytes: count.meta({ description: 'The size of the file' }),
    path: z.string().meta({ description: 'Where it is, on this exchange' }),
  }),
);
export const DayFiles = responseSchema(
  'DayFiles',
  'The files with the events of a day',
  z.strictObject({
    files: z.array(DayFile).describe('The files, by asset, the newest first'),
  }),
);
