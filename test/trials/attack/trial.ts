/** Attacks on the built exchange, each on a stage of its own. */
import { describe, test } from 'vitest';
import { costs } from './costs.js';
import { besideHouse, economy } from './economy.js';
import { frames } from './frames.js';
import { races } from './races.js';
import { resumes } from './resumes.js';
import { slow } from './slow.js';
import { onStage } from './stage.js';

test.for([...races, ...slow, ...besideHouse])('$name', async ({ attack }, { annotate }) => {
  await annotate(await onStage({ clients: 3 }, attack));
});

test.for(economy)('$name', async ({ attack }, { annotate }) => {
  await annotate(await onStage({ variables: { HOUSE: 'off' }, clients: 0 }, attack));
});

describe.each(['0', '2'])('with %s edge threads', (EDGE_THREADS) => {
  // A house that trades fills caches for a quarter of an hour, so memory would not be level.
  const variables = { EDGE_THREADS, FAIR_USE: 'on', HOUSE: 'off' };
  test.for([...frames, ...resumes])('$name', async ({ attack }, { annotate }) => {
    await annotate(await onStage({ variables, clients: 1 }, attack));
  });
  test.for(costs)('$name', async ({ attack }, { annotate }) => {
    await annotate(await onStage({ variables, clients: 0 }, attack));
  });
});
