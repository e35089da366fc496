/**
 * Fuzzes one target: inputs are mutated, and an input that runs new code is mutated further. A
 * fault ends the run, with the input in a file and in the message.
 */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Mutator } from '../../support/workload/mutator.js';
import type { Random } from '../../support/workload/random.js';
import type { Coverage } from './coverage.js';

export interface Target {
  name: string;
  /** Valid inputs, which must not be faults. */
  seeds: readonly Uint8Array[];
  maxBytes?: number;
  /** Throws if the input causes a fault. */
  check(input: Buffer): unknown;
}

export interface Tally {
  inputs: number;
  /** The number of inputs that ran new code. */
  kept: number;
}

/**
 * The smallest batch. Reading the counts takes as long as many inputs, so a batch without new code
 * is followed by one twice as large.
 */
const LEAST = 16;
const MOST = 4_096;
const BATCH_MS = 2_000;
const MAX_BYTES = 4_096;
/** The longest CPU time of an input. Waiting for a busy machine does not count. */
const SLOW_MS = 5_000;

/** Fuzzes for `forMs` after the seeds. If `coverage` is null, only the seeds are mutated. */
export async function fuzz(
  target: Target,
  random: Random,
  coverage: Coverage | null,
  forMs: number,
): Promise<Tally> {
  const corpus: Buffer[] = target.seeds.map((seed) => Buffer.from(seed));
  const mutator = new Mutator(random, corpus, target.maxBytes ?? MAX_BYTES);
  for (const seed of corpus) await attempt(target, seed);
  coverage?.grows();
  const endsAt = performance.now() + forMs;
  const isOver = () => performance.now() >= endsAt;
  const tally = { inputs: corpus.length, kept: 0 };
  for (let size = LEAST; !isOver(); ) {
    const batch: Buffer[] = [];
    const cutAt = performance.now() + BATCH_MS;
    while (batch.length < size && performance.now() < cutAt && !isOver()) {
      batch.push(mutator.from(corpus));
      await attempt(target, batch.at(-1)!);
    }
    tally.inputs += batch.length;
    const found = coverage?.grows(false) === true ? await sift(target, coverage, batch) : [];
    corpus.push(...found);
    tally.kept += found.length;
    size = found.length > 0 ? Math.max(LEAST, size / 2) : Math.min(MOST, size * 2);
  }
  return tally;
}

/** Finds the inputs that run new code, by bisection. */
async function sift(target: Target, coverage: Coverage, inputs: Buffer[]): Promise<Buffer[]> {
  for (const input of inputs) await attempt(target, input);
  if (!coverage.grows(inputs.length === 1)) return [];
  if (inputs.length === 1) return inputs;
  const middle = inputs.length >> 1;
  const first = await sift(target, coverage, inputs.slice(0, middle));
  return [...first, ...(await sift(target, coverage, inputs.slice(middle)))];
}

async function attempt({ name, check }: Target, input: Buffer): Promise<void> {
  const before = process.cpuUsage();
  try {
    await check(Buffer.from(input));
    const { user, system } = process.cpuUsage(before);
    const tookMs = (user + system) / 1_000;
    if (tookMs > SLOW_MS) throw new Error(`it took ${Math.round(tookMs)} ms`);
  } catch (error) {
    const path = join(mkdtempSync(join(tmpdir(), 'fuzzing-')), 'input');
    writeFileSync(path, input);
    const shown = JSON.stringify(input.toString('latin1').slice(0, 2_000));
    const what = `${name}: ${(error as Error).message}\n${path} has the input: ${shown}`;
    throw new Error(what, { cause: error });
  }
}
