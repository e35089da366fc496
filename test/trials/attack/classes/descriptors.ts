/** Too few file descriptors: a start says so, or trading goes on while connections are refused. */
import { setTimeout as sleep } from 'node:timers/promises';
import { refusalOf } from '../../../../bench/measure/exchange-process.js';
import type { Attack, AttackClass } from '../attack.js';
import { starveOfDescriptors } from '../methods/process-limits.js';
import { RawSocket } from '../methods/raw-socket.js';
import { CannotRun, eventually, mustHold } from '../promises.js';
import type { Stage } from '../stage.js';

const LOAD_MS = 8_000;
/** The load is connected by then. */
const SILENT_FROM_MS = 500;
const SILENT_MS = 5_000;
const NAMES_THE_LIMIT = /descriptor|ulimit|open files|RLIMIT_NOFILE/i;

/** A start with so few; then more connections than that, when it has started and under load. */
const atMost = (descriptors: number): Attack => ({
  name: `${descriptors}`,
  done: `ulimit -n ${descriptors}, and ${descriptors + 200} silent connections, at once and under load`,
  run: async (stage) => {
    await stage.exchange.stop();
    const refused = await startedWith(stage, descriptors);
    if (refused !== null) return refused;
    await connectInSilence(stage, descriptors + 200);
    const traffic = await stage.traffic();
    const load = traffic.begin(LOAD_MS);
    await sleep(SILENT_FROM_MS);
    await connectInSilence(stage, descriptors + 200);
    await load;
    await traffic.look();
    return `${traffic.acknowledged} changes acknowledged meanwhile`;
  },
});

async function connectInSilence(stage: Stage, count: number): Promise<void> {
  const silent = Array.from({ length: count }, () => new RawSocket(stage.exchange));
  await sleep(SILENT_MS);
  for (const socket of silent) socket.reset();
}

async function startedWith(stage: Stage, descriptors: number): Promise<string | null> {
  const refusal = await refusalOf(stage.restart({ limit: `ulimit -n ${descriptors}` }));
  if (refusal === null) return null;
  // With too few to load the program, Node.js says so in the middle of a stack.
  const words = refusal.log.split('\n').find((line) => NAMES_THE_LIMIT.test(line));
  mustHold(words !== undefined, `the refusal does not name the limit: ${refusal.message}`);
  if (words.includes('ulimit:')) throw new CannotRun(`the limit cannot be set: ${words}`);
  return `refused: ${words.slice(0, 160)}`;
}

const STARVED_MS = 5_000;
const RECOVERY_LIMIT_MS = 30_000;

const noneLeft: Attack = {
  name: 'none left',
  done: `under load, for ${STARVED_MS / 1_000} s, no file and no connection can be opened`,
  run: async (stage) => {
    const { exchange } = stage;
    const traffic = await stage.traffic();
    const trader = await stage.register();
    const load = traffic.begin(LOAD_MS);
    await sleep(SILENT_FROM_MS);
    const starvation = CannotRun.unlessDone('lower the limit of descriptors', () =>
      starveOfDescriptors(exchange.pid),
    );
    let stakes = 0;
    try {
      for (const endMs = performance.now() + STARVED_MS; performance.now() < endMs; stakes++) {
        await trader.mustStake(`starved:${stakes}`);
        await sleep(20);
      }
    } finally {
      starvation.relieve();
    }
    await load;
    await eventually('the follower works again', RECOVERY_LIMIT_MS, async () => {
      const { status, json } = await trader.send({ path: '/ready' });
      return status === 200 && !('warning' in json);
    });
    return `${stakes} stakes meanwhile; ${await traffic.mustBeInJournal(exchange)}`;
  },
};

export const descriptors: AttackClass = {
  name: 'descriptors',
  isolated: true,
  // The follower opens files while it writes snapshots.
  variables: { SNAPSHOT_EVERY_COMMANDS: '1000' },
  attacks: [...[64, 256, 1_024].map(atMost), noneLeft],
};
