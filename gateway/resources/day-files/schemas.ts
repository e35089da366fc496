/** The query and the response body of the list of the files of days. */
import { z } from 'zod';
import { responseObject } from '../../json/components.js';
import * as request from '../../json/fields.js';
import { asset, count } from '../../json/response-fields.js';
import { asset as assetFilter } from '../markets/schemas.js';

export const DayFilesQuery = request.ownQuery({ asset: assetFilter });

export const DayFile = responseObject('DayFile', 'A file with the events of a day', {
  asset,
  date: z
    .string()
    .regex(/^\d{4}-\d\d-\d\d$/)
    .describe('The UTC day'),
  bytes: count.describe('The size of the file'),
  path: z.string().describe('Where it is, on this exchange'),
});
export const DayFiles = responseObject('DayFiles', 'The files with the events of a day', {
  files: z.array(DayFile).describe('The files, by asset, the newest first'),
});
