/** Lists this process's downloadable day files (serve.ts). */

import { z } from 'zod';
import { type DayFile as File, listDayFiles } from '../../../persistence/history/day-files.js';
import type { GatewayConfig } from '../../http/gateway.js';
import { defineRoute, type Route } from '../../http/route.js';
import { responseObject } from '../../json/components.js';
import * as request from '../../json/fields.js';
import { asset, count } from '../../json/response-fields.js';
import { elapsedMs } from '../../observe/clock.js';
import { requireListed } from '../find.js';
import { asset as assetFilter } from '../markets/schemas.js';

const DayFilesQuery = request.ownQuery({ asset: assetFilter });

export const DayFile = responseObject('DayFile', 'A file with the events of a day', {
  asset,
  date: z
    .string()
    .regex(/^\d{4}-\d\d-\d\d$/)
    .describe('The UTC day'),
  bytes: count.describe('The file’s size'),
  path: z.string().describe('The file’s path on this exchange'),
});
export const DayFiles = responseObject('DayFiles', 'The files with the events of a day', {
  files: z.array(DayFile).describe('The files, by asset, newest first'),
});

const LISTED_MS = 1_000;
const listed = new WeakMap<GatewayConfig, { files: Promise<File[]>; atMs: number }>();

export const dayFileRoutes: Route[] = [
  defineRoute('GET', '/history', {
    access: 'public',
    answeredBy: 'process',
    summary: 'The day files: all events of an asset’s markets on a UTC day',
    query: DayFilesQuery,
    responses: { 200: DayFiles },
    async handle(call) {
      const { asset: wanted } = call.query;
      if (wanted !== undefined && !requireListed(call, wanted)) return;
      const all = await filesOf(call.gateway.config);
      if (call.isOver) return;
      const files = all
        .filter(({ asset }) => wanted === undefined || asset === wanted)
        .map((file) => ({ ...file, path: `/api/history/${file.asset}/${file.date}.jsonl.gz` }));
      call.answerJson<typeof DayFiles>({ files });
    },
  }),
];

function filesOf(config: GatewayConfig): Promise<File[]> {
  const nowMs = elapsedMs();
  let known = listed.get(config);
  if (known === undefined || nowMs - known.atMs > LISTED_MS) {
    known = { files: listDayFiles(config.dataFolder), atMs: nowMs };
    listed.set(config, known);
  }
  return known.files;
}
