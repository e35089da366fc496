/**
 * A machine whose clock is wrong at the start. A folder that was traded faster than real time is
 * ahead of the machine's clock; one that was traded on prices of the past is a year behind it. Both
 * starts are refused, unless ACCEPT_CLOCK=on.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { lastLine, refusalOf } from '../../../../bench/measure/exchange-process.js';
import type { Attack, AttackClass } from '../attack.js';
import { hashesOf } from '../folder.js';
import { mustHold } from '../promises.js';
import type { Stage } from '../stage.js';

const REAL_TIME = { PRICE_FEED: 'simulated', FEED_SPEED: '1' };
const FAST = { PRICE_FEED: 'simulated', FEED_SPEED: '1000' };

/** A start in real time must be refused, then accepted on request, and then the exchange trades. */
async function mustAsk(stage: Stage): Promise<string> {
  await stage.exchange.stop();
  const { dataFolder } = stage.exchange;
  const before = hashesOf(dataFolder);
  const refusal = await refusalOf(stage.restart({ variables: REAL_TIME }));
  mustHold(refusal !== null, 'it believed the clock');
  const words = lastLine(refusal.log);
  mustHold(words.includes('ACCEPT_CLOCK'), `the refusal does not name ACCEPT_CLOCK: ${words}`);
  mustHold(hashesOf(dataFolder) === before, 'the refusal changed the folder');
  await stage.restart({ variables: { ...REAL_TIME, ACCEPT_CLOCK: 'on' } });
  return words.slice(0, 160);
}

async function restartInNewFolder(stage: Stage, variables: Record<string, string>): Promise<void> {
  await stage.exchange.stop();
  await stage.restart({ dataFolder: stage.newFolder(), variables });
}

const behindJournal: Attack = {
  name: 'behind the journal',
  done: 'two seconds at 1,000 times real time, then a start in real time',
  run: async (stage) => {
    await restartInNewFolder(stage, FAST);
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
    await restartInNewFolder(stage, REAL_TIME);
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
