/** A journal of gigabytes: it verifies, and an exchange starts on it. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ExchangeProcess } from '../../../bench/measure/exchange-process.js';
import { makeFolder, removeFolder } from '../../../bench/measure/machine.js';
import { extent } from '../../support/extent.js';
import { programJson } from '../../support/programs.js';
import { writeLongJournal } from './long-journal.js';

const MEGABYTES = extent(4_000);
const START_MS_MAX = 600_000;

test('a long journal verifies, and an exchange starts on it', async ({ annotate }) => {
  // Not in the folder of temporary files, which may be memory.
  const folder = makeFolder(process.cwd());
  const data = join(folder, 'data');
  mkdirSync(data, { mode: 0o700 });
  try {
    await annotate(await writeLongJournal(data, MEGABYTES * 1e6));
    const seconds = (fromMs: number) => ((performance.now() - fromMs) / 1_000).toFixed(1);
    const verifiedMs = performance.now();
    expect(await programJson(data, 'verify')).toMatchObject({ good: true, findings: [] });
    await annotate(`verified in ${seconds(verifiedMs)} s`);
    const startedMs = performance.now();
    const exchange = await ExchangeProcess.start({
      environment: { DATA_FOLDER: data, PORT: '0', ACCEPT_CLOCK: 'on' },
      logFile: join(folder, 'log'),
      killAfterMs: START_MS_MAX,
    });
    await annotate(`open after ${seconds(startedMs)} s`);
    await exchange.stop();
  } finally {
    removeFolder(folder);
  }
});
