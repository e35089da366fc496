/**
 * Two exchanges where there must be one: on one port, on one folder, and both started at the same
 * moment.
 */
import type { Attack, AttackClass } from '../attack.js';
import { type StartOptions, StartRefused } from '../exchange.js';
import { hashesOf } from '../folder.js';
import { Client } from '../methods/client.js';
import { BrokenPromise, mustHold } from '../promises.js';
import type { Stage } from '../stage.js';

/** The words with which a second exchange was refused. */
async function mustRefuse(stage: Stage, options: Partial<StartOptions>): Promise<string> {
  try {
    await stage.start(options);
  } catch (error) {
    if (!(error instanceof StartRefused)) throw error;
    mustHold(error.exitCode !== 0, 'it ended with 0');
    const words = error.words.trim().split('\n').at(-1)!;
    mustHold(words.length > 20, 'it was refused without a word');
    return words;
  }
  throw new BrokenPromise('the second exchange says that it is open');
}

const onePort: Attack = {
  name: 'one port',
  done: 'a second exchange with another folder on the port of the first; 40 requests with a session of the first',
  run: async (stage) => {
    const trader = await stage.register();
    const variables = { PORT: `${stage.exchange.port}` };
    const refusal = mustRefuse(stage, { variables });
    const words = await refusal.catch((error: Error) => error.message);
    let good = 0;
    for (let i = 0; i < 40; i++) {
      const client = new Client(stage.exchange);
      const { status } = await client.ask(trader.signed({ path: '/auth/session' }));
      client.close();
      if (status === 200) good++;
    }
    mustHold(good === 40, `the session was good in ${good} of 40 requests`);
    await refusal;
    return words.slice(0, 120);
  },
};

const oneFolder: Attack = {
  name: 'one folder',
  done: 'a second exchange on the folder of the first',
  run: async (stage) => {
    const words = await mustRefuse(stage, { dataFolder: stage.exchange.dataFolder });
    return words.slice(0, 120);
  },
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
