/** One measurement of `npm run compare`, in its own process: the engine's CPU time, as JSON. */
import '../../persistence/compiler-flags.js';
import { planWorkload, STANDARD } from '../../test/support/workload/workload.js';
import { engineStart } from '../engine/comparison.js';
import { type Load, messagesLoad, mixedLoad } from '../engine/loads.js';
import { leastNanos } from '../measure/race.js';

const SEED = '1';
const COMMANDS = 500_000;
const ROUNDS = { warmUpRounds: 2, rounds: 7, chunks: 100 };

function nanosOf(load: Load): number {
  return leastNanos(engineStart(load.prepare, load), ROUNDS) / COMMANDS;
}

console.log(
  JSON.stringify({
    'mixed, least ns a command': nanosOf(
      mixedLoad(planWorkload({ ...STANDARD, seed: SEED, commands: COMMANDS })),
    ),
    'messages, least ns a message': nanosOf(messagesLoad(SEED, COMMANDS)),
  }),
);
