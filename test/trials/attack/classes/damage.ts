/**
 * Damage to the files of an exchange that is not running: a bit inverted, a page lost, the end cut
 * off, anywhere in the folder. A start is refused and changes nothing, or the damage is harmless:
 * the journal's chain is the same up to its old end, and what is acknowledged afterwards is in it.
 */
import { cpSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ExchangeProcess, refusalOf } from '../../../../bench/measure/exchange-process.js';
import type { Random } from '../../../../bench/workload/random.js';
import { JournalError } from '../../../../persistence/journal/errors.js';
import type { Attack, AttackClass } from '../attack.js';
import { filesOf, hashesOf, type Replayed, replayed } from '../folder.js';
import { Trader } from '../methods/client.js';
import { BrokenPromise, mustHold } from '../promises.js';
import type { Stage } from '../stage.js';
import type { Traffic } from '../traffic.js';

const PAGE_BYTES = 4_096;
/** A slow machine tries fewer folders; the figure says how many. */
const LONGEST_MS = 150_000;
const AT_ONCE = 4;
const TOLD = 4;
/** The share of the damage that is to the journal; the rest is to any file, whatever its size. */
const JOURNAL_SHARE = 0.5;
/** So that much of the journal is older than the newest snapshot. */
const SNAPSHOTS_LEAST = 2;
/** Short, so that the journal is short and a try takes little time. */
const ROUND_MS = 400;
const ROUNDS_MAX = 60;

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

/** Damages one file of the folder. Returns which and how. */
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

const USERNAME = 'after-the-damage';

async function judge(stage: Stage, folder: string, good: Replayed): Promise<Outcome> {
  const before = hashesOf(folder);
  const starting = stage.start({ dataFolder: folder });
  const refusal = await refusalOf(starting);
  if (refusal !== null) {
    const { log, message } = refusal;
    mustHold(log.includes('"level":60') || !log.includes('    at '), `a crash: ${message}`);
    const differing = changed(before, hashesOf(folder));
    mustHold(differing === null, `refused, but files were changed: ${differing}`);
    return 'refused';
  }
  const exchange = await starting;
  try {
    const trader = await Trader.register(exchange, USERNAME);
    await trader.mustStake('after');
    trader.client.close();
    await exchange.stop();
    await mustHaveAll(folder, good);
    return 'harmless';
  } finally {
    await exchange.kill();
  }
}

async function mustHaveAll(folder: string, good: Replayed): Promise<void> {
  let now: Replayed;
  try {
    now = await replayed(folder);
  } catch (error) {
    if (!(error instanceof JournalError)) throw error;
    throw new BrokenPromise(`acknowledged on a damaged journal: ${error.message}`);
  }
  const { sequence } = good.engine;
  mustHold(
    now.hashes.get(sequence) === good.hashes.get(sequence),
    `the journal differs up to ${sequence}`,
  );
  mustHold(now.engine.findUser(USERNAME) > 0, 'what was acknowledged afterwards is lost');
}

function changed(before: string, after: string): string | null {
  if (before === after) return null;
  const lines = new Set(before.split('\n'));
  const files = after.split('\n').filter((line) => !lines.has(line));
  return files.map((line) => line.split(' ')[0]).join(', ') || 'one is gone';
}

const spoiled = (
  name: string,
  count: number,
  end: (exchange: ExchangeProcess) => Promise<void>,
): Attack => ({
  name,
  done: `${count} times a bit inverted, a page lost or an end cut off in any file`,
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
      while (tried < count && performance.now() < endMs) {
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
    return `${figure}, no change acknowledged on a bad journal; ${traffic.acknowledged} changes in the journal`;
  },
});

export const damage: AttackClass = {
  name: 'damage',
  isolated: true,
  // The minimum, so that the folder has several snapshots, and most damage precedes the newest.
  variables: { SNAPSHOT_EVERY_COMMANDS: '1000' },
  attacks: [
    spoiled('after a stop', 120, (exchange) => exchange.stop()),
    spoiled('after a kill', 80, (exchange) => exchange.kill()),
  ],
};
