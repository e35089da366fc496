/**
 * One measurement of `npm run compare`, in its own process: the mixed workload on this build's
 * engine. Prints the rounds' median as JSON.
 */
import '../../persistence/compiler-flags.js';
import { median } from '../../test/support/processes/samples.js';
import {
  planWorkload,
  prepareEngine,
  STANDARD,
  type Workload,
} from '../../test/support/workload/workload.js';

const COMMANDS = 500_000;
const WARM_UP_ROUNDS = 2;
const ROUNDS = 7;

function nanosOfRound({ setup, commands, digest }: Workload): number {
  const engine = prepareEngine(setup);
  engine.reserve();
  globalThis.gc?.();
  const startedMs = performance.now();
  commands.applyTo(engine, 0, commands.length);
  const nanos = ((performance.now() - startedMs) * 1e6) / commands.length;
  if (engine.digest() !== digest) throw new Error('the engine did something else');
  return nanos;
}

const workload = planWorkload({ ...STANDARD, seed: '1', commands: COMMANDS });
const rounds = Array.from({ length: WARM_UP_ROUNDS + ROUNDS }, () => nanosOfRound(workload));
console.log(JSON.stringify({ 'ns a command': median(rounds.slice(WARM_UP_ROUNDS)) }));
