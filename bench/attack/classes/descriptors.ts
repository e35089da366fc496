/**
 * Too few file descriptors. The exchange says at the start what it needs, or keeps what the journal
 * needs for itself: connections may be refused, trading goes on.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Attack, AttackClass } from '../attack.js';
import { StartRefused } from '../exchange.js';
import { type Starvation, starveOfDescriptors } from '../methods/process-limits.js';
import { RawSocket } from '../methods/raw-socket.js';
import { CannotRun, eventually, mustHold } from '../promises.js';
import type { Stage } from '../stage.js';

const LOAD_MS = 8_000;
/** The load is connected by then. */
const SILENT_FROM_MS = 500;
const SILENT_MS = 5_000;
const NAMES_THE_LIMIT = /descriptor|ulimit|open files|RLIMIT_NOFILE/i;

/**
 * A start with so few; then more connections than there are descriptors, while the follower starts
 * and under load.
 */
const atMost = (descriptors: number): Attack => ({
  name: `${descriptors}`,
  done: `ulimit -n ${descriptors}, and ${descriptors + 200} silent connections, at once and under load`,
  run: async (stage) => {
    await stage.exchange.stop();
    const words = await startedWith(stage, descriptors);
    if (words !== null) return words;
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

/** The words of the refusal; null: it started. */
async function startedWith(stage: Stage, descriptors: number): Promise<string | null> {
  try {
    await stage.restart({ limit: `ulimit -n ${descriptors}` });
    return null;
  } catch (error) {
    if (!(error instanceof StartRefused)) throw error;
    // With too few to load the program, Node.js says so in the middle of a stack.
    const lines = error.words.trim().split('\n');
    const words = lines.find((line) => NAMES_THE_LIMIT.test(line));
    mustHold(words !== undefined, `the refusal does not name the limit: ${lines.at(-1)}`);
    if (words.includes('ulimit:')) throw new CannotRun(`the limit cannot be set: ${words}`);
    return `refused: ${words.slice(0, 160)}`;
  }
}

const STARVED_MS = 5_000;
const RECOVERY_LIMIT_MS = 30_000;

const noneLeft: Attack = {
  name: 'none left',
  done: `under load, for ${STARVED_MS / 1_000} s, no file and no connection can be opened`,
  run: async (stage) => {
    const { exchange } = stage;
    const traffic = await stage.traffic();
    // Its connection is open before.
    const trader = await stage.register();
    await trader.availableMicros();
    const load = traffic.begin(LOAD_MS);
    await sleep(SILENT_FROM_MS);
    const starvation = starved(exchange.pid);
    let stakes = 0;
    try {
      for (const endMs = performance.now() + STARVED_MS; performance.now() < endMs; stakes++) {
        const { status, text } = await trader.stake(1, `starved:${stakes}`);
        mustHold(status === 201, `a stake was answered ${status}: ${text}`);
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
    trader.client.close();
    await traffic.look();
    await exchange.stop();
    await traffic.judge(exchange.dataFolder);
    return `${stakes} stakes meanwhile; ${traffic.acknowledged} acknowledged changes found once`;
  },
};

function starved(pid: number): Starvation {
  try {
    return starveOfDescriptors(pid);
  } catch (error) {
    throw new CannotRun(`descriptors cannot be taken away: ${(error as Error).message}`);
  }
}

export const descriptors: AttackClass = {
  name: 'descriptors',
  isolated: true,
  // The follower opens files while it writes snapshots.
  variables: { SNAPSHOT_EVERY_COMMANDS: '1000' },
  attacks: [...[64, 256, 1_024].map(atMost), noneLeft],
};
