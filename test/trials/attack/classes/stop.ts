/** SIGTERM while there is work: what was accepted is answered, and the exchange ends within 5 s. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, ConnectionLost, PASSWORD } from '../../../../bench/http/load/client.js';
import { requestText } from '../../../../bench/http/load/messages.js';
import type { Attack, AttackClass } from '../attack.js';
import { stakeOf } from '../methods/client.js';
import { openMany } from '../methods/raw-socket.js';
import { mustHold } from '../promises.js';
import type { Stage } from '../stage.js';

const LONGEST_STOP_MS = 5_000;
const ROUNDS = 4;

async function mustStopSoon(stage: Stage): Promise<number> {
  const startedMs = performance.now();
  await stage.exchange.stop();
  const tookMs = Math.round(performance.now() - startedMs);
  mustHold(tookMs < LONGEST_STOP_MS, `the stop took ${(tookMs / 1_000).toFixed(1)} s`);
  return tookMs;
}

const underLoad: Attack = {
  name: 'under load',
  done: `SIGTERM and a new start, ${ROUNDS} times`,
  run: async (stage) => {
    const traffic = await stage.traffic();
    let longestMs = 0;
    for (let i = 0; i < ROUNDS; i++) {
      const load = traffic.begin(1_500);
      await sleep(1_400);
      longestMs = Math.max(longestMs, await mustStopSoon(stage));
      await Promise.all([stage.restart(), load]);
    }
    return `${await traffic.mustBeInJournal(stage.exchange)}; the longest took ${longestMs} ms`;
  },
};

const SIGN_INS = 125;

const signIns: Attack = {
  name: 'with sign-ins waiting',
  done: `SIGTERM while ${SIGN_INS} sign-ins wait: each is answered`,
  run: async (stage) => {
    const { username } = await stage.register();
    const body = { username, password: PASSWORD };
    const clients = Array.from({ length: SIGN_INS }, () => new Client(stage.exchange));
    const answers = clients.map(async (client) => {
      try {
        return (await client.ask({ method: 'POST', path: '/auth/login', body })).status;
      } catch (error) {
        if (error instanceof ConnectionLost) return 0;
        throw error;
      }
    });
    // After the first answer, the others have arrived: they were sent before.
    await answers[0];
    const tookMs = await mustStopSoon(stage);
    const statuses = await Promise.all(answers);
    const count = (wanted: number) => statuses.filter((status) => status === wanted).length;
    const figure = `200: ${count(200)}, 503: ${count(503)}, no answer: ${count(0)}`;
    mustHold(count(200) + count(503) === SIGN_INS, figure);
    return `${figure}; ${tookMs} ms`;
  },
};

const slowClients: Attack = {
  name: 'with slow clients',
  done: 'SIGTERM while 200 connections are silent and 200 send half a stake',
  run: async (stage) => {
    const trader = await stage.register();
    const half = requestText(trader.signed(stakeOf(1, 'half'))).slice(0, -5);
    const sockets = await openMany(stage.exchange, 400);
    for (const socket of sockets.slice(200)) socket.write(half);
    await trader.availableMicros();
    const tookMs = await mustStopSoon(stage);
    for (const socket of sockets) socket.reset();
    return `${tookMs} ms`;
  },
};

export const stop: AttackClass = {
  name: 'stop',
  isolated: true,
  variables: { PASSWORD_COST_LOG2: '15' },
  attacks: [underLoad, signIns, slowClients],
};
