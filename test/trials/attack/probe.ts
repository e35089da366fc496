/**
 * What others see of an exchange under attack. A probe asks for the time repeatedly, in a thread of
 * its own, because attackers keep this one busy; the memory is read during the attack.
 *
 * Invariant: 99 of 100 answers come within {@link P99_MS}, and the memory is level: in the second
 * half of an attack it grows by at most {@link LEVEL_BYTES}.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { expect } from 'vitest';
import { HOST } from '../../support/http/messages.js';
import { mainThreadCpuMsOf, mainThreadWaitMsOf } from '../../support/processes/process-cpu.js';
import type { Stage } from './stage.js';

const P99_MS = 100;
const LEVEL_BYTES = 64 * 2 ** 20;
/** The number of readings of the memory per attack. */
const READINGS = 10;
/** The address of all attackers, which differs from the probe's. */
export const ATTACKER = '127.0.0.9';

/**
 * Real time of each attack. In a much shorter one, the burst that is allowed to an address is more
 * than one answer of a hundred. Ten minutes show whether the memory is level.
 */
export const ATTACK_MS = Number(process.env['ATTACK_SECONDS'] ?? 10) * 1_000;

const PROBE = `
  const { parentPort, workerData } = require('node:worker_threads');
  const { Agent, get } = require('node:http');
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const waits = [];
  let over = false;
  parentPort.once('message', () => { over = true; });
  const ask = () => {
    if (over) { parentPort.postMessage(waits); parentPort.close(); agent.destroy(); return; }
    const startMs = performance.now();
    get({ agent, host: workerData.host, port: workerData.port, path: '/api/time' }, (answer) => {
      answer.resume();
      answer.on('end', () => {
        waits.push(answer.statusCode === 200 ? performance.now() - startMs : Infinity);
        setTimeout(ask, 10);
      });
    });
  };
  ask();
`;

/** Starts the probe. The returned function ends it and resolves to the answer times, in order. */
function probeOf({ port }: Stage): () => Promise<number[]> {
  const worker = new Worker(PROBE, { eval: true, workerData: { host: HOST, port } });
  return async () => {
    const seen = new Promise<number[]>((resolve) => worker.once('message', resolve));
    worker.postMessage('stop');
    return (await seen).sort((a, b) => a - b);
  };
}

/** Reads the memory at the start and then at equal intervals, until it is told to end. */
function memoryOf(stage: Stage): () => Promise<number[]> {
  const bytes: number[] = [];
  let isOver = false;
  const run = (async () => {
    while (!isOver) {
      bytes.push(stage.residentBytes());
      const untilMs = performance.now() + ATTACK_MS / READINGS;
      while (!isOver && performance.now() < untilMs) await sleep(20);
    }
  })();
  return async () => {
    isOver = true;
    await run;
    return [...bytes, stage.residentBytes()];
  };
}

/** The metrics of charges that have grown, and by how much. */
async function charges({ api }: Stage): Promise<Map<string, number>> {
  const { text } = await api.get('/metrics');
  const lines = text.matchAll(
    /^exchange_(rate_limited_total|stream_closed_total|connections_refused_total)(\S+) (\d+)$/gm,
  );
  return new Map(Array.from(lines, ([, , labels, count]) => [labels!, Number(count)]));
}

/** Runs the probe during `attack` and reports its figures. */
export async function besideProbe(
  stage: Stage,
  attack: (untilMs: number) => Promise<object | string>,
): Promise<string> {
  const before = await charges(stage);
  const [endProbe, endMemory] = [probeOf(stage), memoryOf(stage)];
  const { pid } = stage;
  const [startMs, cpuMs, waitMs] = [
    performance.now(),
    mainThreadCpuMsOf(pid),
    mainThreadWaitMsOf(pid),
  ];
  const told = await attack(startMs + ATTACK_MS);
  const spentMs = performance.now() - startMs;
  const core = (mainThreadCpuMsOf(pid) - cpuMs) / spentMs;
  const waiting = (mainThreadWaitMsOf(pid) - waitMs) / spentMs;
  const [waits, bytes] = [await endProbe(), await endMemory()];
  const grown = [...(await charges(stage))]
    .map(([labels, count]) => [labels, count - (before.get(labels) ?? 0)] as const)
    .filter(([, more]) => more > 0)
    .map(([labels, more]) => `${labels} ${more}`);
  const at = (part: number) => waits[Math.floor(waits.length * part)]!;
  const mib = bytes.map((each) => Math.round(each / 2 ** 20));
  const report = [
    typeof told === 'string' ? told : JSON.stringify(told),
    `probe p50 ${at(0.5).toFixed(1)} ms, p99 ${at(0.99).toFixed(1)} ms, most ${waits.at(-1)!.toFixed(0)} of ${waits.length}`,
    `trading thread ${(core * 100).toFixed(0)}%, ${(waiting * 100).toFixed(0)}% waiting for a processor`,
    `MiB ${mib.join(' ')}`,
    ...grown,
  ].join('; ');
  expect(at(0.99), report).toBeLessThan(P99_MS);
  const half = bytes.slice(bytes.length >> 1);
  expect(Math.max(...half) - half[0]!, report).toBeLessThan(LEVEL_BYTES);
  return report;
}
