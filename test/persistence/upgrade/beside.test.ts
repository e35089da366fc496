/**
 * An upgrade to a version that reads the same journal, but no snapshot of the older version. It is
 * prepared while the built program trades in a separate process.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { listSnapshots } from '../../../persistence/recovery/snapshot/folder.js';
import { upgrade } from '../../../persistence/tools/operations/upgrade.js';
import { eventually } from '../../support/eventually.js';
import { isVouchedFor } from '../../support/folders/vouched.js';
import { Exchanges } from '../../support/programs.js';
import { replayJson } from '../../support/replay-tool.js';
import { Random } from '../../support/workload/random.js';
import { expectAll, registerTraders, tradeOn } from '../../trials/disk/scenario.js';

const exchanges = new Exchanges({ ASSETS: 'BTC', HOUSE: 'off', FEED_SPEED: '60' });
afterAll(() => exchanges.end());

test('an exchange is followed while it trades, and its next start replays next to nothing', async () => {
  const folder = join(exchanges.work, 'data');
  const old = exchanges.spawn({ DATA_FOLDER: folder });
  const api = await exchanges.listening(old);
  const traders = await registerTraders(api);
  const trade = (keys: string) =>
    tradeOn(api, traders, { commands: 20, keys, random: new Random(keys) });
  const before = await trade('before');
  const said: string[] = [];
  const done = upgrade({ from: folder, to: null, say: (text) => void said.push(text) });
  await eventually(() => said.join('').includes('Stop the exchange now'));
  const during = await trade('during');
  // Removes the snapshots, because a new version could not read them.
  for (const { path } of listSnapshots(folder)) rmSync(path);
  expect(await old.stop()).toBe(0);
  const { sequence } = await done;
  expect([listSnapshots(folder)[0]!.sequence, await isVouchedFor(folder)]).toEqual([
    sequence,
    true,
  ]);
  expect((await replayJson(folder, 'verify')).good).toBe(true);
  const next = exchanges.spawn({ DATA_FOLDER: folder });
  await expectAll(await exchanges.listening(next), [...before, ...during]);
  expect(next.stderr).toContain(`"sequence":${sequence + 1},"snapshotSequence":${sequence},`);
  expect(await next.stop()).toBe(0);
});
