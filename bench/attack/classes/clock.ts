/**
 * A machine whose clock is wrong at the start. A folder that was traded faster than real time is
 * ahead of the machine's clock; one that was traded on prices of the past is a year behind it. Both
 * starts are refused, unless ACCEPT_CLOCK=on.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Attack, AttackClass } from '../attack.js';
import { StartRefused } from '../exchange.js';
import { hashesOf } from '../folder.js';
import { BrokenPromise, mustHold } from '../promises.js';
import type { Stage } from '../stage.js';

/** On the machine's clock. */
const REAL_TIME = { PRICE_FEED: 'simulated', FEED_SPEED: '1' };
const FAST = { PRICE_FEED: 'simulated', FEED_SPEED: '1000' };

/**
 * The attacked exchange starts on the machine's clock: refused at first, then accepted on demand,
 * and then it trades.
 */
async function mustAsk(stage: Stage): Promise<string> {
  await stage.exchange.stop();
  const { dataFolder } = stage.exchange;
  const before = hashesOf(dataFolder);
  const words = await refusal(stage);
  mustHold(words.includes('ACCEPT_CLOCK'), `the refusal does not name ACCEPT_CLOCK: ${words}`);
  mustHold(hashesOf(dataFolder) === before, 'the refusal changed the folder');
  await stage.restart({ variables: { ...REAL_TIME, ACCEPT_CLOCK: 'on' } });
  return words.slice(0, 160);
}

async function refusal(stage: Stage): Promise<string> {
  try {
    await stage.restart({ variables: REAL_TIME });
  } catch (error) {
    if (!(error instanceof StartRefused)) throw error;
    return error.words.trim().split('\n').at(-1)!;
  }
  throw new BrokenPromise('it believed the clock');
}

const behindJournal: Attack = {
  name: 'behind the journal',
  done: 'two seconds at 1,000 times real time, then a start in real time',
  run: async (stage) => {
    await stage.exchange.stop();
    await stage.restart({ dataFolder: stage.newFolder(), variables: FAST });
    await sleep(2_000);
    return mustAsk(stage);
  },
};

const aheadOfJournal: Attack = {
  name: 'a year ahead of the journal',
  done: 'a folder traded on prices of November 2025, then a start in real time',
  run: mustAsk,
};

const shortOutage: Attack = {
  name: 'an ordinary restart',
  done: 'a folder traded in real time, stopped and started again',
  run: async (stage) => {
    await stage.exchange.stop();
    await stage.restart({ dataFolder: stage.newFolder(), variables: REAL_TIME });
    await stage.exchange.stop();
    await stage.restart({ variables: REAL_TIME });
    return 'open';
  },
};

export const clock: AttackClass = {
  name: 'clock',
  isolated: true,
  attacks: [behindJournal, aheadOfJournal, shortOutage],
};
