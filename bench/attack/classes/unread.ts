/** Clients that ask for large answers and never read them: memory stays within a bound, and trading goes on. */
import type { Attack, AttackClass } from '../attack.js';
import { attackWithUnreadReaders } from '../methods/unread-readers.js';
import { CannotRun, mustHold } from '../promises.js';

const READERS = 5_000;
const ATTACK_SECONDS = 60;
const USUAL_SECONDS = 15;
/** Where two cores are shared by five processes, a delay of so much says nothing about the exchange. */
const NOISE_MS = 25;

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
    mustHold(figures.isWithinTwiceUsual || attackP99Ms < NOISE_MS, `too slow: ${figure}`);
    mustHold(Object.keys(byStatus).join() === '200', `${JSON.stringify(byStatus)}: ${figure}`);
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
