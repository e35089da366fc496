/**
 * Too few file descriptors. The exchange says at the start what it needs, or keeps what the journal needs for itself: connections may
 * be refused, trading goes on.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Attack, type AttackClass, CannotRun, mustHold } from './attack.js';
import { StartRefused } from './exchange.js';
import { RawSocket } from './raw-socket.js';
import type { Stage } from './stage.js';

const SILENT_MS = 3_000;
const NAMES_THE_LIMIT = /descriptor|ulimit|open files|RLIMIT_NOFILE/i;

/** A start with so few; then more connections than there are descriptors, under load. */
const atMost = (descriptors: number): Attack => ({
  name: `${descriptors}`,
  done: `ulimit -n ${descriptors}, ${descriptors + 200} silent connections, and load`,
  run: async (stage) => {
    await stage.exchange.stop();
    const words = await startedWith(stage, descriptors);
    if (words !== null) return words;
    const traffic = await stage.traffic();
    const sockets: RawSocket[] = [];
    try {
      for (let i = 0; i < descriptors + 200; i++) {
        const socket = await Promise.race([RawSocket.open(stage.exchange), sleep(1_000, null)]);
        if (socket === null) break;
        sockets.push(socket);
      }
      await traffic.run(SILENT_MS);
    } finally {
      for (const socket of sockets) socket.reset();
    }
    await traffic.look();
    return `${traffic.acknowledged} changes acknowledged meanwhile`;
  },
});

/** The words of the refusal; null: it started. */
async function startedWith(stage: Stage, descriptors: number): Promise<string | null> {
  const { dataFolder } = stage.exchange;
  try {
    stage.exchange = await stage.start({ dataFolder, limit: `ulimit -n ${descriptors}` });
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
  attacks: [64, 256, 1_024].map(atMost),
};
