/** SIGKILL under load: every acknowledged change is there afterwards, once, with the same bytes. */
import { setTimeout as sleep } from 'node:timers/promises';
import { refusalOf } from '../../../../bench/measure/exchange-process.js';
import type { Attack, AttackClass } from '../attack.js';
import { mustHold } from '../promises.js';

const ROUNDS = 12;
const LOAD_MS = { min: 300, max: 2_000 };
/** The load ends so soon after the kill, and is then retried until the exchange is back. */
const KILL_EARLIER_MS = 10;

const underLoad: Attack = {
  name: 'under load',
  done: `SIGKILL and a new start, ${ROUNDS} times`,
  run: async (stage) => {
    const traffic = await stage.traffic();
    let rounds = 0;
    while (rounds < ROUNDS) {
      const loadMs = stage.random.whole(LOAD_MS.min, LOAD_MS.max);
      const load = traffic.begin(loadMs);
      await sleep(loadMs - KILL_EARLIER_MS);
      await stage.exchange.kill();
      await Promise.all([stage.restart(), load]);
      rounds++;
    }
    return `${rounds} kills, ${await traffic.mustBeInJournal(stage.exchange)}`;
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
    let killed = 0;
    for (let i = 0; i < STARTS; i++) {
      await stage.exchange.kill();
      const killAfterMs = stage.random.whole(1, START_MS);
      const refusal = await refusalOf(stage.restart({ killAfterMs }));
      if (refusal === null) continue;
      mustHold(refusal.exitCode === null, refusal.message);
      killed++;
    }
    await stage.exchange.kill();
    await stage.restart();
    const figure = await traffic.mustBeInJournal(stage.exchange);
    return `${killed} killed before they were open; ${figure}`;
  },
};

export const kill: AttackClass = { name: 'kill', isolated: true, attacks: [underLoad, atStart] };
