/**
 * Runs attacks and judges what they leave behind. After each attack the process is alive and ready,
 * and a new client can trade; all the while, a bystander trades. At the end, the replay tool
 * verifies and audits the folder.
 */
import type { Random } from '../workload/random.js';
import type { Attack, AttackClass } from './attack.js';
import { Bystander, LONGEST_WAIT_MS } from './bystander.js';
import type { AttackedExchange } from './exchange.js';
import { mustBeGood } from './folder.js';
import { Client } from './methods/client.js';
import { CannotRun, eventually, mustHold } from './promises.js';
import type { Row } from './report.js';
import { Stage, type StageOptions } from './stage.js';

export interface RunOptions {
  /** Temporary folders are made in here. */
  parent: string;
  random: Random;
  /** On the clock of performance.now(). */
  deadlineMs: number;
  told: (row: Row) => void;
}

/** An attack that takes longer hangs. */
const ATTACK_LIMIT_MS = 300_000;
const READY_LIMIT_MS = 20_000;

export async function runClass(attackClass: AttackClass, options: RunOptions): Promise<void> {
  if (attackClass.isolated === true) {
    for (const attack of attackClass.attacks) await runIsolated(attackClass, attack, options);
  } else await runShared(attackClass, options);
}

async function runIsolated(
  attackClass: AttackClass,
  attack: Attack,
  options: RunOptions,
): Promise<void> {
  await toRow(attackClass, attack, options, async () => {
    const stage = await Stage.open(stageOptions(attackClass, options));
    try {
      const figure = await attack.run(stage);
      const { exchange } = stage;
      if (exchange.isRunning) {
        await mustBeWell(stage);
        await mustStop(exchange);
      }
      await mustBeGood(exchange.dataFolder);
      return figure;
    } finally {
      await stage.close();
    }
  });
}

async function runShared(attackClass: AttackClass, options: RunOptions): Promise<void> {
  const stage = await Stage.open(stageOptions(attackClass, options));
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
      await mustStop(stage.exchange);
      await mustBeGood(stage.exchange.dataFolder);
      return 'nothing lost, doubled or minted';
    });
  } finally {
    await stage.close();
  }
}

function stageOptions({ variables = {} }: AttackClass, options: RunOptions): StageOptions {
  const { parent, random, deadlineMs } = options;
  return { parent, random, deadlineMs, variables };
}

/** Runs it, unless the time is over, and tells what came of it. */
async function toRow(
  { name }: AttackClass,
  attack: Omit<Attack, 'run'>,
  { deadlineMs, told }: RunOptions,
  run: () => Promise<string>,
): Promise<void> {
  const row = { attack: `${name}: ${attack.name}`, done: attack.done };
  const startedMs = performance.now();
  const seconds = () => (performance.now() - startedMs) / 1_000;
  if (startedMs > deadlineMs) {
    told({ ...row, verdict: 'could not run', figure: 'the time was over', seconds: 0 });
    return;
  }
  try {
    const figure = await atMost(ATTACK_LIMIT_MS, run());
    told({ ...row, verdict: 'held', figure, seconds: seconds() });
  } catch (error) {
    const verdict = error instanceof CannotRun ? 'could not run' : 'BROKEN';
    told({ ...row, verdict, figure: (error as Error).message, seconds: seconds() });
  }
}

async function mustBeWell(stage: Stage): Promise<void> {
  const { exchange } = stage;
  mustHold(
    exchange.isRunning,
    `the process has ended: ${exchange.words.trim().split('\n').at(-1)}`,
  );
  const client = new Client(exchange);
  await eventually('the exchange is ready', READY_LIMIT_MS, async () => {
    return (await client.ask({ path: '/ready' })).status === 200;
  });
  client.close();
  const trader = await stage.register();
  const startedMs = performance.now();
  const { status, text } = await trader.stake(1, 'afterwards');
  trader.client.close();
  mustHold(status === 201, `afterwards, a stake was answered ${status}: ${text}`);
  const waitedMs = performance.now() - startedMs;
  mustHold(waitedMs < LONGEST_WAIT_MS, `afterwards, a stake took ${Math.round(waitedMs)} ms`);
}

async function mustStop(exchange: AttackedExchange): Promise<void> {
  const { exitCode } = await exchange.stop();
  mustHold(exitCode === 0, `the exchange ended with ${exitCode}`);
}

async function atMost<T>(limitMs: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`it did not end within ${limitMs / 1_000} s`)),
      limitMs,
    );
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
  }
}
