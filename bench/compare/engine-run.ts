/**
 * One measurement of `npm run compare`, in its own process: the thread CPU time of this build's
 * engine. Prints the rounds' medians as JSON.
 */
import '../../persistence/compiler-flags.js';
import { planWorkload, STANDARD } from '../../test/support/workload/workload.js';
import { engineStart } from '../engine/comparison.js';
import { type Load, messagesLoad, mixedLoad } from '../engine/loads.js';
import { medianNanos } from '../measure/race.js';

const SEED = '1';
const COMMANDS = 500_000;

function nanosOf(load: Load): number {
  const rounds = { warmUpRounds: 2, rounds: 7 };
  return medianNanos(engineStart(load.prepare, load), rounds) / COMMANDS;
}

console.log(
  JSON.stringify({
    'mixed, ns a command': nanosOf(
      mixedLoad(planWorkload({ ...STANDARD, seed: SEED, commands: COMMANDS })),
    ),
    'messages, ns a message': nanosOf(messagesLoad(SEED, COMMANDS)),
  }),
);
