/** The documented table of queues equals the one in the code. */
import { readFile } from 'node:fs/promises';
import { expect, onTestFinished, test } from 'vitest';
import { queuesOf } from '../../../gateway/start/queues.js';
import { STREAM_LIMITS } from '../../../gateway/stream/limits.js';
import { TestServer } from '../../support/server.js';

const DEFAULTS = {
  connections: { total: 10_000 },
  stream: STREAM_LIMITS,
  unsent: { bytes: 64 * 2 ** 20 },
};

test('CONFIGURATION.md has every queue, and the metrics show them', async () => {
  const file = new URL('../../../gateway/CONFIGURATION.md', import.meta.url);
  const [, text] = (await readFile(file, 'utf8')).split('## Queues\n');
  const rows = text!
    .split('\n## ')[0]!
    .split('\n')
    .filter((line) => line.startsWith('|'));
  const queues = queuesOf(DEFAULTS);
  expect(rows.slice(2)).toEqual(
    queues.map(({ what, bytesMax, beyond, metric }) => {
      const shown = metric === null ? '' : `\`${metric}\` `;
      return `| ${what} | ${Math.floor(bytesMax / 2 ** 20)} | ${beyond} | ${shown}|`;
    }),
  );
  const server = await TestServer.start();
  onTestFinished(() => server.stop());
  const metrics = (await server.api.get('/metrics')).text;
  for (const { metric } of queues) if (metric !== null) expect(metrics).toContain(`\n${metric}`);
});
