/** No space on the disk: what is acknowledged is kept, and an exchange that is open can trade. */
import { spawnSync } from 'node:child_process';
import { appendFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ConnectionLost } from '../../../../bench/http/load/client.js';
import { lastLine, refusalOf } from '../../../../bench/measure/exchange-process.js';
import type { Attack, AttackClass } from '../attack.js';
import { filesOf } from '../folder.js';
import type { Trader } from '../methods/client.js';
import { limitFileSize, type Starvation } from '../methods/process-limits.js';
import { CannotRun, mustHold } from '../promises.js';
import type { Stage } from '../stage.js';

const DISK_MIB = 48;
const FILLER = 'filler';
const LOAD_MS = 2_000;

/** Puts the attacked exchange on a small disk until the stage ends. Returns the data folder. */
async function ontoSmallDisk(stage: Stage): Promise<string> {
  await stage.exchange.stop();
  const dataFolder = stage.newFolder();
  const options = `size=${DISK_MIB}m,mode=0700`;
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', dataFolder], {
    encoding: 'utf8',
  });
  const reason = mounted.error?.message ?? mounted.stderr.trim();
  if (mounted.status !== 0) throw new CannotRun(`a small disk cannot be mounted: ${reason}`);
  stage.atEnd(() => spawnSync('umount', ['-l', dataFolder]));
  await stage.restart({ dataFolder });
  return dataFolder;
}

/** Writes until there is no space, down to the last byte. */
function fill(folder: string): void {
  for (let size = 2 ** 20; size >= 1; size = Math.floor(size / 2)) {
    try {
      for (;;) appendFileSync(join(folder, FILLER), Buffer.alloc(size, 1));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    }
  }
}

/** Starves the exchange under load, starts it again, and looks for all that was acknowledged. */
async function mustKeepAll(stage: Stage, starve: () => void, relieve: () => void): Promise<string> {
  const traffic = await stage.traffic();
  await traffic.run(1_000);
  const load = traffic.begin(LOAD_MS);
  await sleep(LOAD_MS / 2);
  starve();
  await load;
  const wasEnded = !stage.exchange.isRunning;
  relieve();
  await stage.exchange.kill();
  await stage.restart();
  await traffic.run(500);
  const figure = await traffic.mustBeInJournal(stage.exchange);
  return `the process ${wasEnded ? 'ended' : 'went on'}; ${figure}`;
}

const fillsUp: Attack = {
  name: 'fills up under load',
  done: `a disk of ${DISK_MIB} MiB is filled to the last byte, and freed`,
  run: async (stage) => {
    const folder = await ontoSmallDisk(stage);
    return mustKeepAll(
      stage,
      () => fill(folder),
      () => rmSync(join(folder, FILLER)),
    );
  },
};

const startsFull: Attack = {
  name: 'full at the start',
  done: 'a start on a disk without a free byte; then one with space again',
  run: async (stage) => {
    const folder = await ontoSmallDisk(stage);
    const trader = await stage.register();
    await stage.exchange.stop();
    fill(folder);
    const figure = await startOnFullDisk(stage, trader);
    rmSync(join(folder, FILLER));
    await stage.exchange.kill();
    await stage.restart();
    return figure;
  },
};

async function startOnFullDisk(stage: Stage, trader: Trader): Promise<string> {
  const refusal = await refusalOf(stage.restart());
  if (refusal !== null) return `refused: ${lastLine(refusal.log).slice(0, 120)}`;
  const statuses = await stakesOf(trader, stage);
  const words = stage.exchange.log.slice(-300);
  mustHold(stage.exchange.isRunning, `it said that it was open, and ended: ${words}`);
  return `open; stakes were answered ${statuses}`;
}

/** The answers to a few stakes; 0: the connection was lost. */
async function stakesOf(trader: Trader, stage: Stage): Promise<string> {
  const statuses: number[] = [];
  for (let i = 0; i < 5 && stage.exchange.isRunning; i++) {
    try {
      statuses.push((await trader.stake(1, `full:${i}`)).status);
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error;
      statuses.push(0);
    }
    await sleep(200);
  }
  return statuses.join(', ');
}

/** What the largest file may still grow by. */
const LEFT_BYTES = 65_536;

const fileLimit: Attack = {
  name: 'a file may not grow',
  done: 'under load, no file may grow any more (RLIMIT_FSIZE)',
  run: (stage) => {
    let starvation: Starvation | null = null;
    const { dataFolder } = stage.exchange;
    const limit = () => {
      const sizes = filesOf(dataFolder).map((name) => statSync(join(dataFolder, name)).size);
      starvation = CannotRun.unlessDone('limit the size of files', () =>
        limitFileSize(stage.exchange.pid, Math.max(...sizes) + LEFT_BYTES),
      );
    };
    const relieve = () => {
      if (stage.exchange.isRunning) starvation?.relieve();
    };
    return mustKeepAll(stage, limit, relieve);
  },
};

export const fullDisk: AttackClass = {
  name: 'full-disk',
  isolated: true,
  attacks: [fillsUp, startsFull, fileLimit],
};
