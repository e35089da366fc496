/** Minutes of mixed load over HTTP and the stream, and a verdict on all that was acknowledged. */
import { tmpdir } from 'node:os';
import { expect, test } from 'vitest';
import { makeFolder, removeFolder } from '../../../bench/measure/machine.js';
import { extent, SEED } from '../../support/extent.js';
import { STANDARD_SPEED } from './exchange.js';
import { soak } from './run.js';

test('nothing acknowledged is lost or doubled, and memory stays level', async ({ annotate }) => {
  const folder = makeFolder(tmpdir());
  try {
    const { record, journal, tally, streamTally, memory, problems, ...counts } = await soak({
      folder,
      minutes: extent(10),
      users: 200,
      connections: 64,
      speed: STANDARD_SPEED,
      seed: SEED,
      print: (line) => process.stdout.write(`${line}\n`),
    });
    const { acknowledged, count: sent } = record;
    const { executed, unacknowledged, repeated } = journal;
    const { messages, resumed, slowReadersClosed } = streamTally;
    await annotate(JSON.stringify({ sent, acknowledged, executed, unacknowledged, repeated }));
    await annotate(JSON.stringify({ messages, resumed, slowReadersClosed, ...counts }));
    await annotate(JSON.stringify({ hangUps: tally.hangUps, memory }));
    expect(problems).toEqual([]);
  } finally {
    removeFolder(folder);
  }
});
