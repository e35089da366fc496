/**
 * Runs attacks and judges what they leave behind. After each one the process must be ready, and a
 * new client must be able to trade. If attacks share an exchange, a bystander trades meanwhile. At
 * the end, the replay tool verifies and audits the folder.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '../../../bench/http/load/client.js';
import { lastLine } from '../../../bench/measure/exchange-process.js';
import { replayProblems } from '../../../bench/measure/replay-tool.js';
import type { Attack, AttackClass } from './attack.js';
import { Bystander, LONGEST_WAIT_MS } from './bystander.js';
import { CannotRun, eventually, mustHold } from './promises.js';
import { Stage, type StageOptions } from './stage.js';

export interface Row {
  attack: string;
  done: string;
  verdict: 'held' | 'BROKEN' | 'could not run';
  /** What was counted; if a promise broke, what happened instead. */
  figure: string;
}

export interface RunOptions extends Omit<StageOptions, 'variables'> {
  told: (row: Row) => void;
}

/** An attack that takes longer is broken. */
const ATTACK_LIMIT_MS = 300_000;
const READY_LIMIT_MS = 20_000;

export async function runClass(attackClass: AttackClass, options: RunOptions): Promise<void> {
  if (attackClass.isolated === true) {
    for (const attack of attackClass.attacks) await runIsolated(attackClass, attack, options);
  } else await runShared(attackClass, options);
}

function runIsolated(attackClass: AttackClass, attack: Attack, options: RunOptions): Promise<void> {
  return toRow(attackClass, attack, options, async () => {
    const stage = await Stage.open({ ...options, ...attackClass });
    try {
      const figure = await attack.run(stage);
      if (stage.exchange.isRunning) {
        await mustBeWell(stage);
        await stage.exchange.stop();
      }
      await mustBeGood(stage.exchange.dataFolder);
      return figure;
    } finally {
      await stage.close();
    }
  });
}

async function runShared(attackClass: AttackClass, options: RunOptions): Promise<void> {
  const stage = await Stage.open({ ...options, ...attackClass });
  try {
    let bystander = await Bystander.start(stage.exchange, 'bystander');
    for (const attack of attackClass.attacks) {
      await toRow(attackClass, attack, options, async () => {
        const figure = await attack.run(stage);
        await mustBeWell(stage);
        const latencies = bystander.judge();
        if (latencies.count === 0) return figure;
        return `${figure}; others waited ${latencies.max().toFixed(0)} ms at most`;
      });
      if (stage.exchange.isRunning) continue;
      await stage.restart();
      bystander = await Bystander.start(stage.exchange, `bystander-${performance.now() | 0}`);
    }
    const after = { name: 'afterwards', done: 'stop; verify and audit of the folder' };
    await toRow(attackClass, after, options, async () => {
      await bystander.stop();
      await stage.exchange.stop();
      await mustBeGood(stage.exchange.dataFolder);
      return 'nothing lost, doubled or minted';
    });
  } finally {
    await stage.close();
  }
}

/** Runs the attack, and reports the result. */
async function toRow(
  { name }: AttackClass,
  attack: Omit<Attack, 'run'>,
  { told }: RunOptions,
  run: () => Promise<string>,
): Promise<void> {
  const row = { attack: `${name}: ${attack.name}`, done: attack.done };
  try {
    const figure = await atMost(ATTACK_LIMIT_MS, run());
    told({ ...row, verdict: 'held', figure });
  } catch (error) {
    const verdict = error instanceof CannotRun ? 'could not run' : 'BROKEN';
    told({ ...row, verdict, figure: (error as Error).message });
  }
}

async function mustBeWell(stage: Stage): Promise<void> {
  const { exchange } = stage;
  stage.hangUp();
  mustHold(exchange.isRunning, `the process has ended: ${lastLine(exchange.log)}`);
  const client = new Client(exchange);
  const isReady = async () => (await client.ask({ path: '/ready' })).status === 200;
  await eventually('the exchange is ready', READY_LIMIT_MS, isReady);
  client.close();
  const trader = await stage.register();
  const startedMs = performance.now();
  const { status, text } = await trader.stake(1, 'afterwards');
  stage.hangUp();
  mustHold(status === 201, `afterwards, a stake was answered ${status}: ${text}`);
  const waitedMs = performance.now() - startedMs;
  mustHold(waitedMs < LONGEST_WAIT_MS, `afterwards, a stake took ${Math.round(waitedMs)} ms`);
}

/** The replay tool finds no damage, and no money that was not conserved. */
async function mustBeGood(folder: string): Promise<void> {
  const problems = await replayProblems(folder);
  mustHold(problems.length === 0, problems.join('; '));
}

async function atMost<T>(limitMs: number, work: Promise<T>): Promise<T> {
  const end = new AbortController();
  const limit = sleep(limitMs, undefined, { signal: end.signal }).then(() => {
    throw new Error(`it did not end within ${limitMs / 1_000} s`);
  });
  limit.catch(() => {});
  try {
    return await Promise.race([work, limit]);
  } finally {
    end.abort();
  }
}
