/**
 * Too few file descriptors. The exchange says at the start what it needs, or keeps what the journal needs for
 * itself: connections may be refused, trading goes on.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Attack, type AttackClass, CannotRun, mustHold } from '../attack.js';
import { StartRefused } from '../exchange.js';
import { RawSocket } from '../raw-socket.js';
import type { Stage } from '../stage.js';

const LOAD_MS = 8_000;
/** The load is connected by then. */
const SILENT_FROM_MS = 500;
const SILENT_MS = 5_000;
const NAMES_THE_LIMIT = /descriptor|ulimit|open files|RLIMIT_NOFILE/i;

/**
 * A start with so few; then more connections than there are descriptors, while the follower starts and under load.
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
    const words = error.words.trim().split('\n').at(-1)!;
    if (words.includes('ulimit:')) throw new CannotRun(`the limit cannot be set: ${words}`);
    mustHold(NAMES_THE_LIMIT.test(words), `the refusal does not name the limit: ${words}`);
    return `refused: ${words.slice(0, 160)}`;
  }
}

export const descriptors: AttackClass = {
  name: 'descriptors',
  isolated: true,
  // The follower opens files while it writes snapshots.
  variables: { SNAPSHOT_EVERY_COMMANDS: '1000' },
  attacks: [64, 256, 1_024].map(atMost),
};
