/**
 * SIGTERM while there is work: the exchange answers what it took, ends with status 0 and in less
 * than five seconds.
 */
import type { Attack, AttackClass } from '../attack.js';
import { Client, ConnectionLost, PASSWORD, requestText, stakeOf } from '../methods/client.js';
import { openMany } from '../methods/raw-socket.js';
import { mustHold } from '../promises.js';
import type { Stage } from '../stage.js';

const LONGEST_STOP_MS = 5_000;
const ROUNDS = 4;

async function mustStopSoon(stage: Stage): Promise<number> {
  const { exitCode, milliseconds } = await stage.exchange.stop();
  mustHold(exitCode === 0, `the exchange ended with ${exitCode}`);
  const seconds = (milliseconds / 1_000).toFixed(1);
  mustHold(milliseconds < LONGEST_STOP_MS, `the stop took ${seconds} s`);
  return milliseconds;
}

const underLoad: Attack = {
  name: 'under load',
  done: `SIGTERM and a new start, ${ROUNDS} times`,
  run: async (stage) => {
    const traffic = await stage.traffic();
    let longestMs = 0;
    for (let i = 0; i < ROUNDS; i++) {
      const load = traffic.begin(1_500);
      await new Promise((resolve) => setTimeout(resolve, 1_400));
      longestMs = Math.max(longestMs, await mustStopSoon(stage));
      await Promise.all([stage.restart(), load]);
    }
    await traffic.look();
    await stage.exchange.stop();
    await traffic.judge(stage.exchange.dataFolder);
    return `${traffic.acknowledged} acknowledged changes found once; the longest took ${Math.round(longestMs)} ms`;
  },
};

const SIGN_INS = 125;

const signIns: Attack = {
  name: 'with sign-ins waiting',
  done: `SIGTERM while ${SIGN_INS} sign-ins wait: each is answered`,
  run: async (stage) => {
    const trader = await stage.register();
    const body = { username: trader.username, password: PASSWORD };
    const clients = Array.from({ length: SIGN_INS }, () => new Client(stage.exchange));
    const answers = clients.map((client) =>
      client.ask({ method: 'POST', path: '/auth/login', body }).then(
        ({ status }) => status,
        (error: Error) => {
          if (error instanceof ConnectionLost) return 0;
          throw error;
        },
      ),
    );
    // The first answer says that the others have come in, too: they were sent before.
    await answers[0];
    const milliseconds = await mustStopSoon(stage);
    const statuses = await Promise.all(answers);
    const count = (wanted: number) => statuses.filter((status) => status === wanted).length;
    const figure = `200: ${count(200)}, 503: ${count(503)}, no answer: ${count(0)}`;
    mustHold(count(200) + count(503) === SIGN_INS, figure);
    return `${figure}; ${Math.round(milliseconds)} ms`;
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
    const milliseconds = await mustStopSoon(stage);
    for (const socket of sockets) socket.reset();
    return `${Math.round(milliseconds)} ms`;
  },
};

export const stop: AttackClass = {
  name: 'stop',
  isolated: true,
  variables: { PASSWORD_COST_LOG2: '15' },
  attacks: [underLoad, signIns, slowClients],
};
