/** SIGKILL under load, again and again. Everything that was acknowledged is there afterwards, once, with the bytes of its answer. */
import type { Attack, AttackClass } from './attack.js';

const ROUNDS = 12;
const LOAD_MS = { min: 300, max: 2_000 };
/** The load ends so soon after the kill. What it lost is sent again under its keys until the exchange is back. */
const KILL_EARLIER_MS = 10;

const underLoad: Attack = {
  name: 'under load',
  done: `SIGKILL and a new start, ${ROUNDS} times`,
  run: async (stage) => {
    const traffic = await stage.traffic();
    let rounds = 0;
    while (rounds < ROUNDS && stage.isTimeLeft) {
      const loadMs = stage.random.whole(LOAD_MS.min, LOAD_MS.max);
      const load = traffic.run(loadMs);
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

const atStart: Attack = {
  name: 'while it starts',
  done: 'SIGKILL at random moments of ten starts, after some load',
  run: async (stage) => {
    const traffic = await stage.traffic();
    await traffic.run(2_000);
    for (let i = 0; i < 10; i++) {
      await stage.exchange.kill();
      const started = stage.restart();
      await new Promise((resolve) => setTimeout(resolve, stage.random.whole(0, 600)));
      // It is killed when it is open, at the earliest at the chosen moment.
      await started;
    }
    await traffic.look();
    await stage.exchange.stop();
    await traffic.judge(stage.exchange.dataFolder);
    return `${traffic.acknowledged} acknowledged changes found once`;
  },
};

export const kill: AttackClass = { name: 'kill', isolated: true, attacks: [underLoad, atStart] };
