/** Two exchanges where there must be one: on one port, in one folder, started at one moment. */
import { lastLine, refusalOf } from '../../../../bench/measure/exchange-process.js';
import type { Attack, AttackClass } from '../attack.js';
import { hashesOf } from '../folder.js';
import { askOnce } from '../methods/client.js';
import { BrokenPromise, mustHold } from '../promises.js';
import type { Stage, StageStart } from '../stage.js';

const SESSION_REQUESTS = 40;

async function mustRefuse(stage: Stage, options: StageStart): Promise<string> {
  const refusal = await refusalOf(stage.start(options));
  mustHold(refusal !== null, 'the second exchange says that it is open');
  mustHold(refusal.exitCode !== 0, 'it ended with 0');
  const words = lastLine(refusal.log);
  mustHold(words.length > 20, 'it was refused without a reason');
  return words.slice(0, 120);
}

const onePort: Attack = {
  name: 'one port',
  done: `a second exchange with another folder on the port of the first; ${SESSION_REQUESTS} requests with a session of the first`,
  run: async (stage) => {
    const { exchange } = stage;
    const trader = await stage.register();
    const refusal = mustRefuse(stage, { variables: { PORT: `${exchange.port}` } });
    // Judged after the session, which shows whether the second one took requests.
    await refusal.catch(() => {});
    let good = 0;
    for (let i = 0; i < SESSION_REQUESTS; i++) {
      const { status } = await askOnce(exchange, trader.signed({ path: '/auth/session' }));
      if (status === 200) good++;
    }
    mustHold(
      good === SESSION_REQUESTS,
      `the session was good in ${good} of ${SESSION_REQUESTS} requests`,
    );
    return refusal;
  },
};

const oneFolder: Attack = {
  name: 'one folder',
  done: 'a second exchange on the folder of the first',
  run: (stage) => mustRefuse(stage, { dataFolder: stage.exchange.dataFolder }),
};

const atOnce: Attack = {
  name: 'both at once',
  done: 'three starts at the same moment on one folder that was stopped',
  run: async (stage) => {
    const { dataFolder } = stage.exchange;
    await stage.exchange.stop();
    const before = hashesOf(dataFolder);
    const starts = await Promise.allSettled([1, 2, 3].map(() => stage.start({ dataFolder })));
    const open = starts.flatMap((start) => (start.status === 'fulfilled' ? [start.value] : []));
    mustHold(open.length <= 1, `${open.length} exchanges are open on one folder`);
    if (open.length === 0) {
      mustHold(hashesOf(dataFolder) === before, 'none is open, and the folder was changed');
      throw new BrokenPromise('none of them opened');
    }
    stage.exchange = open[0]!;
    return 'one opened';
  },
};

export const twoExchanges: AttackClass = {
  name: 'two-exchanges',
  isolated: true,
  attacks: [onePort, oneFolder, atOnce],
};
