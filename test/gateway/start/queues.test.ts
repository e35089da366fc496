/** The documented maximum of each queue equals the one in the code, and its metric exists. */
import { readFile } from 'node:fs/promises';
import { expect, onTestFinished, test } from 'vitest';
import { OVERLOAD_LIMITS } from '../../../gateway/access/fair-use/overload.js';
import { MESSAGE_BYTES_MAX } from '../../../gateway/edge/link/frames.js';
import { RING_BYTES, WAITING_BYTES_MAX } from '../../../gateway/edge/link/ring.js';
import { BYTES_MAX as FORWARDED_BYTES_MAX } from '../../../gateway/edge/pending.js';
import { ENCODING_BYTES_MAX } from '../../../gateway/http/answers/answer-encoder.js';
import { BODY_BYTES_MAX } from '../../../gateway/http/request.js';
import { readConfig } from '../../../gateway/start/config.js';
import { FRAME_BYTES } from '../../../gateway/stream/endpoint.js';
import { HELD_BYTES_MAX } from '../../../gateway/stream/resume/journal-replays.js';
import { PENDING_MAX } from '../../../persistence/follower/history-client.js';
import { TestServer } from '../../support/server.js';

const { connections, stream, unsent } = readConfig({});
/** A batch of a hundred refused operations, with its result. */
const BYTES_OF_READ = 32 * 1_024;

/** Maximums per process, or per edge for an edge's queues. */
const BYTES_MAX: Record<string, number> = {
  'request bodies being received or queued': connections.total * BODY_BYTES_MAX,
  'stream messages being received': stream.connections * FRAME_BYTES,
  'commands waiting for the disk': OVERLOAD_LIMITS.backlogBytes * 1.1,
  'reads of the history, including those that explain refused batches': PENDING_MAX * BYTES_OF_READ,
  'answers being compressed': ENCODING_BYTES_MAX,
  'answers queued for writing': unsent.bytes,
  'answers not read by clients': unsent.bytes,
  'messages not read by one stream': stream.backlogBytes,
  'messages not read by all streams': stream.backlogBytesInAll,
  'messages kept for `resume`': stream.keptCharactersInAll,
  'messages from the journal for `resume`': HELD_BYTES_MAX,
  'an edge: requests waiting for the core': FORWARDED_BYTES_MAX * 1.1,
  'an edge: stream messages to the core': RING_BYTES + WAITING_BYTES_MAX,
  'an edge: answers and messages from the core': RING_BYTES + 2 * unsent.bytes,
  'a replica: bytes waiting for its socket': MESSAGE_BYTES_MAX,
};

test('CONFIGURATION.md has the maximum of every queue, and the metrics show the queues', async () => {
  const file = new URL('../../../gateway/CONFIGURATION.md', import.meta.url);
  const [, text] = (await readFile(file, 'utf8')).split('## Queues\n');
  const [, , ...lines] = text!.split('\n## ')[0]!.match(/^\|.*$/gm)!;
  const rows = lines.map((line) => line.split('|').map((cell) => cell.trim()));
  expect(rows.map(([, what, mebibytes]) => [what, mebibytes])).toEqual(
    Object.entries(BYTES_MAX).map(([what, bytes]) => [what, `${Math.floor(bytes / 2 ** 20)}`]),
  );
  const server = await TestServer.start();
  onTestFinished(() => server.stop());
  const metrics = (await server.api.get('/metrics')).text;
  for (const [, , , , metric] of rows)
    if (metric !== '') expect(metrics).toContain(`\n${metric!.replaceAll('`', '')}`);
});
