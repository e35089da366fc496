/**
 * What waits in memory: CONFIGURATION.md has the maximum of each queue that clients can fill, at
 * the defaults, and the metric that shows it.
 */
import { readFile } from 'node:fs/promises';
import { expect, onTestFinished, test } from 'vitest';
import { OVERLOAD_LIMITS } from '../../../gateway/access/fair-use/overload.js';
import { BYTES_MAX as FORWARDED_BYTES_MAX } from '../../../gateway/edge/forwarder.js';
import { MESSAGE_BYTES_MAX } from '../../../gateway/edge/link/frames.js';
import { RING_BYTES, WAITING_BYTES_MAX } from '../../../gateway/edge/link/ring.js';
import { CODED_BYTES_MAX } from '../../../gateway/http/answers/answer-coder.js';
import { BODY_BYTES_MAX } from '../../../gateway/http/request.js';
import { readConfig } from '../../../gateway/start/config.js';
import { FRAME_BYTES } from '../../../gateway/stream/endpoint.js';
import { HELD_BYTES_MAX } from '../../../gateway/stream/resume/journal-replays.js';
import { PENDING_MAX } from '../../../persistence/follower/history-client.js';
import { TestServer } from '../../support/server.js';

/** A batch of a hundred refused operations, with its result. */
const BYTES_OF_READ = 32 * 1_024;

test('CONFIGURATION.md has the maximum of every queue, and the metrics show them', async () => {
  const file = new URL('../../../gateway/CONFIGURATION.md', import.meta.url);
  const [, text] = (await readFile(file, 'utf8')).split('## What waits\n');
  const lines = text!.split('\n## ')[0]!.split('\n');
  const rows = lines.filter((line) => line.startsWith('|')).slice(2);
  const { connections, stream, unsent } = readConfig({});
  const maxima = [
    connections.total * BODY_BYTES_MAX,
    stream.connections * FRAME_BYTES,
    OVERLOAD_LIMITS.backlogBytes * 1.1,
    PENDING_MAX * BYTES_OF_READ,
    CODED_BYTES_MAX,
    unsent.bytes,
    unsent.bytes,
    stream.backlogBytes,
    stream.backlogBytesInAll,
    stream.keptCharactersInAll,
    HELD_BYTES_MAX,
    FORWARDED_BYTES_MAX * 1.1,
    RING_BYTES + WAITING_BYTES_MAX,
    RING_BYTES + 2 * unsent.bytes,
    MESSAGE_BYTES_MAX,
  ];
  const cells = rows.map((row) => row.split('|').map((cell) => cell.trim()));
  expect(cells.map(([, , mebibytes]) => Number(mebibytes))).toEqual(
    maxima.map((bytes) => Math.floor(bytes / 2 ** 20)),
  );
  const server = await TestServer.start();
  onTestFinished(() => server.stop());
  const metrics = (await server.api.get('/metrics')).text;
  for (const [, , , , metric] of cells)
    if (metric !== '') expect(metrics).toContain(`\n${metric!.replaceAll('`', '')}`);
});
