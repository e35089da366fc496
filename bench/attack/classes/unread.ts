/**
 * Clients that ask for large answers and never read them: memory stays within a bound, and trading
 * goes on.
 */
import type { Attack, AttackClass } from '../attack.js';
import { attackWithUnreadReaders } from '../methods/unread-readers.js';
import { CannotRun, mustHold } from '../promises.js';

const READERS = 5_000;
const ATTACK_SECONDS = 60;
const USUAL_SECONDS = 15;
/**
 * On a machine that is busier than this before the attack, delays say nothing about the exchange.
 */
const LEAST_IDLE_SHARE = 0.6;

const mebibytes = (bytes: number) => Math.round(bytes / 2 ** 20);

const largeAnswers: Attack = {
  name: `${READERS} readers`,
  done: `${READERS} clients ask for files and never read, for ${ATTACK_SECONDS} s, while another buys`,
  run: async ({ exchange }) => {
    if (process.platform !== 'linux')
      throw new CannotRun('only Linux tells of the memory of a process in /proc');
    const figures = await attackWithUnreadReaders({
      address: `http://${exchange.host}`,
      pid: exchange.pid,
      readers: READERS,
      usualSeconds: USUAL_SECONDS,
      attackSeconds: ATTACK_SECONDS,
    });
    const { residentBeforeBytes, residentMostBytes, residentBoundBytes, byStatus } = figures;
    const { usualP99Ms, attackP99Ms, openMost } = figures;
    const figure =
      `${openMost} open; memory ${mebibytes(residentBeforeBytes)} to ${mebibytes(residentMostBytes)} MiB ` +
      `(bound ${mebibytes(residentBoundBytes)}); p99 of buys ${usualP99Ms.toFixed(1)} to ${attackP99Ms.toFixed(1)} ms`;
    mustHold(figures.isWithinBound, `too much memory: ${figure}`);
    mustHold(Object.keys(byStatus).join() === '200', `${JSON.stringify(byStatus)}: ${figure}`);
    const { usualIdleShare, isWithinTwiceUsual } = figures;
    if (!isWithinTwiceUsual && usualIdleShare < LEAST_IDLE_SHARE) {
      throw new CannotRun(
        `too busy a machine to judge delays (${Math.round(100 * usualIdleShare)}% idle); ${figure}`,
      );
    }
    mustHold(isWithinTwiceUsual, `too slow: ${figure}`);
    return figure;
  },
};

export const unread: AttackClass = {
  name: 'unread',
  isolated: true,
  // In real time a market stays open for long enough.
  variables: { FEED_SPEED: '1' },
  attacks: [largeAnswers],
};
