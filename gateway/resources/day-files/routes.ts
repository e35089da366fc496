/** The list of the files of days (contract/downloads/days.ts), as this process has them. */
import { type DayFile, listDayFiles } from '../../../persistence/history/day-files.js';
import type { GatewayConfig } from '../../http/gateway.js';
import { defineRoute, type Route } from '../../http/route.js';
import { elapsedMs } from '../../observe/clock.js';
import { isListed } from '../find.js';
import { DayFiles, DayFilesQuery } from './schemas.js';

/** The folder is read at most once in this time, however many ask. */
const LISTED_MS = 1_000;
const listed = new WeakMap<GatewayConfig, { files: Promise<DayFile[]>; atMs: number }>();

export const dayFileRoutes: Route[] = [
  defineRoute('GET', '/history', {
    access: 'public',
    answeredBy: 'process',
    summary: 'The files that have all events of an asset on a UTC day',
    query: DayFilesQuery,
    responses: { 200: DayFiles },
    async handle(call) {
      const { asset: wanted } = call.query;
      if (wanted !== undefined && !isListed(call, wanted)) return;
      const all = await filesOf(call.gateway.config);
      if (call.isOver) return;
      const files = all
        .filter(({ asset }) => wanted === undefined || asset === wanted)
        .map((file) => ({ ...file, path: `/api/history/${file.asset}/${file.date}.jsonl.gz` }));
      call.answerJson<typeof DayFiles>({ files });
    },
  }),
];

function filesOf(config: GatewayConfig): Promise<DayFile[]> {
  const nowMs = elapsedMs();
  let known = listed.get(config);
  if (known === undefined || nowMs - known.atMs > LISTED_MS) {
    known = { files: listDayFiles(config.dataFolder), atMs: nowMs };
    listed.set(config, known);
  }
  return known.files;
}
