/** Attacks on the built exchange, each on a stage of its own. */
import { describe, test } from 'vitest';
import { costs } from './costs.js';
import { economy } from './economy.js';
import { frames } from './frames.js';
import { races } from './races.js';
import { slow } from './slow.js';
import { onStage } from './stage.js';

test.for([...races, ...slow])('$name', async ({ attack }, { annotate }) => {
  await annotate(await onStage({ clients: 3 }, attack));
});

test.for(costs)('$name', async ({ attack }, { annotate }) => {
  await annotate(
    await onStage({ variables: { FAIR_USE: 'on', HOUSE: 'off' }, clients: 0 }, attack),
  );
});

test.for(economy)('$name', async ({ attack }, { annotate }) => {
  await annotate(await onStage({ variables: { HOUSE: 'off' }, clients: 0 }, attack));
});

describe.each(['0', '2'])('frames, with %s edge threads', (EDGE_THREADS) => {
  const variables = { EDGE_THREADS, FAIR_USE: 'on' };
  test.for(frames)('$name', async ({ attack }, { annotate }) => {
    await annotate(await onStage({ variables, clients: 1 }, attack));
  });
});
