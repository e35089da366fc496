/**
 * SIGKILL under load, again and again. Everything that was acknowledged is there afterwards, once,
 * with the bytes of its answer.
 */
import type { Attack, AttackClass } from '../attack.js';
import { StartRefused } from '../exchange.js';

const ROUNDS = 12;
const LOAD_MS = { min: 300, max: 2_000 };
/**
 * The load ends so soon after the kill. What it lost is sent again under its keys until the
 * exchange is back.
 */
const KILL_EARLIER_MS = 10;

const underLoad: Attack = {
  name: 'under load',
  done: `SIGKILL and a new start, ${ROUNDS} times`,
  run: async (stage) => {
    const traffic = await stage.traffic();
    let rounds = 0;
    while (rounds < ROUNDS && stage.isTimeLeft) {
      const loadMs = stage.random.whole(LOAD_MS.min, LOAD_MS.max);
      const load = traffic.begin(loadMs);
      await new Promise((resolve) => setTimeout(resolve, loadMs - KILL_EARLIER_MS));
      await stage.exchange.kill();
      await Promise.all([stage.restart(), load]);
      rounds++;
    }
    await traffic.look();
    await stage.exchange.stop();
    await traffic.judge(stage.exchange.dataFolder);
    return `${rounds} kills, ${traffic.acknowledged} acknowledged changes found once`;
  },
};

const STARTS = 12;
/** A start takes half a second, or three times as long on a busy machine. */
const START_MS = 1_500;

const atStart: Attack = {
  name: 'while it starts',
  done: `SIGKILL at random moments of ${STARTS} starts, after some load`,
  run: async (stage) => {
    const traffic = await stage.traffic();
    await traffic.run(2_000);
    let opened = 0;
    for (let i = 0; i < STARTS; i++) {
      await stage.exchange.kill();
      try {
        await stage.restart({ killAfterMs: stage.random.whole(1, START_MS) });
        opened++;
      } catch (error) {
        if (!(error instanceof StartRefused) || error.exitCode !== null) throw error;
      }
    }
    await stage.exchange.kill();
    await stage.restart();
    await traffic.look();
    await stage.exchange.stop();
    await traffic.judge(stage.exchange.dataFolder);
    const { acknowledged } = traffic;
    return `${STARTS - opened} killed before they were open; ${acknowledged} acknowledged changes found once`;
  },
};

export const kill: AttackClass = { name: 'kill', isolated: true, attacks: [underLoad, atStart] };
