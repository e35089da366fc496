/**
 * Damage to the files of an exchange that is not running: a bit inverted, a page lost, the end cut
 * off, anywhere in the folder. A start either refuses, with nothing changed, or the damage is
 * harmless: the chain of the journal is the same up to where it was, and what is acknowledged
 * afterwards is there. Nothing is ever acknowledged upon a journal that is not good.
 */
import { cpSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { JournalError } from '../../../persistence/journal/errors.js';
import type { Random } from '../../workload/random.js';
import type { Attack, AttackClass } from '../attack.js';
import { type AttackedExchange, StartRefused } from '../exchange.js';
import { filesOf, hashesOf, type Replayed, replayed } from '../folder.js';
import { Trader } from '../methods/client.js';
import { BrokenPromise, mustHold } from '../promises.js';
import type { Stage } from '../stage.js';
import type { Traffic } from '../traffic.js';

const PAGE_BYTES = 4_096;
/** On a slow machine fewer are tried, and the figure says how many. */
const LONGEST_MS = 150_000;
/** Folders that are tried at the same time. */
const AT_ONCE = 4;
/** Failures that are told word for word. */
const TOLD = 4;

/**
 * Of the damage, this part is to the journal; the rest is to any file, the small ones as often as
 * the large.
 */
const JOURNAL_SHARE = 0.5;
/** So that much of the journal is older than the newest of them. */
const SNAPSHOTS_LEAST = 2;
/** Short, so that a journal is short and a try takes little time. */
const ROUND_MS = 400;
const ROUNDS_MAX = 60;

/** Until there are snapshots enough. */
async function trade(traffic: Traffic, folder: string): Promise<void> {
  const snapshots = () => filesOf(folder).filter((name) => name.startsWith('snapshots/')).length;
  for (let round = 0; round < ROUNDS_MAX && snapshots() < SNAPSHOTS_LEAST; round++)
    await traffic.run(ROUND_MS);
  await traffic.run(ROUND_MS);
  mustHold(
    snapshots() >= SNAPSHOTS_LEAST,
    `${snapshots()} snapshots after ${ROUNDS_MAX} rounds of load`,
  );
}

/** Damages one file of the folder, and says which and how. */
function spoil(folder: string, random: Random): string {
  const files = filesOf(folder);
  const journal = files.filter((name) => name === 'journal.db' || name === 'journal.db-wal');
  const name = random.pick(random.chance(JOURNAL_SHARE) ? journal : files);
  const path = join(folder, name);
  const bytes = readFileSync(path);
  const at = random.whole(0, bytes.length - 1);
  switch (random.weighted({ flip: 6, page: 1, cut: 3 })) {
    case 'flip':
      bytes[at]! ^= 1 << random.whole(0, 7);
      writeFileSync(path, bytes);
      return `${name}: a bit of byte ${at} of ${bytes.length}`;
    case 'page': {
      const page = at - (at % PAGE_BYTES);
      writeFileSync(path, bytes.fill(0, page, Math.min(bytes.length, page + PAGE_BYTES)));
      return `${name}: the page at ${page} of ${bytes.length}`;
    }
    case 'cut':
      truncateSync(path, at);
      return `${name}: cut to ${at} of ${bytes.length}`;
  }
}

type Outcome = 'refused' | 'harmless';

/** Starts on a damaged folder. @throws BrokenPromise */
async function judge(stage: Stage, folder: string, good: Replayed): Promise<Outcome> {
  const before = hashesOf(folder);
  let exchange: AttackedExchange;
  try {
    exchange = await stage.start({ dataFolder: folder });
  } catch (error) {
    if (!(error instanceof StartRefused)) throw error;
    mustHold(
      error.words.includes('"level":60') || !error.words.includes('    at '),
      `a crash: ${error.message}`,
    );
    mustHold(
      hashesOf(folder) === before,
      `refused, but files were changed: ${changed(before, hashesOf(folder))}`,
    );
    return 'refused';
  }
  try {
    const username = await acknowledged(exchange);
    await exchange.stop();
    await mustHaveAll(folder, good, username);
    return 'harmless';
  } finally {
    await exchange.kill();
  }
}

/** Registers a user and stakes; the name of the user. */
async function acknowledged(exchange: AttackedExchange): Promise<string> {
  const username = 'after-the-damage';
  const trader = await Trader.register(exchange, username);
  const { status } = await trader.stake(1, 'after');
  trader.client.close();
  mustHold(status === 201, `open, but a stake was answered ${status}`);
  return username;
}

async function mustHaveAll(folder: string, good: Replayed, username: string): Promise<void> {
  let now: Replayed;
  try {
    now = await replayed(folder);
  } catch (error) {
    if (!(error instanceof JournalError)) throw error;
    throw new BrokenPromise(`acknowledged upon a damaged journal: ${error.message}`);
  }
  const { sequence } = good.engine;
  mustHold(
    now.hashes.get(sequence) === good.hashes.get(sequence),
    `the journal differs up to ${sequence}`,
  );
  mustHold(now.engine.findUser(username) > 0, 'what was acknowledged afterwards is lost');
}

function changed(before: string, after: string): string {
  const lines = new Set(before.split('\n'));
  const files = after.split('\n').filter((line) => !lines.has(line));
  return files.map((line) => line.split(' ')[0]).join(', ') || 'one is gone';
}

interface Plan {
  name: string;
  done: string;
  count: number;
  end: (exchange: AttackedExchange) => Promise<unknown>;
}

const spoiled = ({ name, done, count, end }: Plan): Attack => ({
  name,
  done: `${count} times ${done}`,
  run: async (stage) => {
    const traffic = await stage.traffic();
    await trade(traffic, stage.exchange.dataFolder);
    await end(stage.exchange);
    const original = stage.exchange.dataFolder;
    const good = await replayed(original);
    const outcomes: Record<Outcome | 'broken', number> = { refused: 0, harmless: 0, broken: 0 };
    const failures: string[] = [];
    const endMs = performance.now() + LONGEST_MS;
    let tried = 0;
    const tryMore = async () => {
      while (tried < count && stage.isTimeLeft && performance.now() < endMs) {
        tried++;
        const folder = stage.newFolder();
        cpSync(original, folder, { recursive: true });
        const what = spoil(folder, stage.random);
        try {
          outcomes[await judge(stage, folder, good)]++;
        } catch (error) {
          outcomes.broken++;
          failures.push(`${what}: ${(error as Error).message}`);
        }
        rmSync(folder, { recursive: true });
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, tryMore));
    const figure = `${tried} of ${count} tried: ${outcomes.refused} refused, ${outcomes.harmless} harmless`;
    mustHold(
      failures.length === 0,
      [`${figure}, ${outcomes.broken} broken`, ...failures.slice(0, TOLD)].join('\n'),
    );
    return `${figure}, none acknowledged upon; ${traffic.acknowledged} changes in the journal`;
  },
});

const DAMAGE = 'a bit inverted, a page lost or an end cut off in any file';

export const damage: AttackClass = {
  name: 'damage',
  isolated: true,
  // The least there is, so that the folder has several snapshots, and most damage is older than the
  // newest.
  variables: { SNAPSHOT_EVERY_COMMANDS: '1000' },
  attacks: [
    spoiled({ name: 'after a stop', done: DAMAGE, count: 120, end: (exchange) => exchange.stop() }),
    spoiled({ name: 'after a kill', done: DAMAGE, count: 80, end: (exchange) => exchange.kill() }),
  ],
};
