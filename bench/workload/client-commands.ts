/**
 * A workload's commands as clients send them: one user's runs become batches, and some have a key.
 *
 * Invariant: an engine that applies them has the workload's events, with the same numbers.
 */
import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Engine } from '../../engine/engine.js';
import type { BatchOperation, Command } from '../../engine/interface/commands.js';
import { CommandList } from '../../test/support/workload/command-list.js';
import { eachEvent } from '../../test/support/workload/events.js';
import { Random } from '../../test/support/workload/random.js';
import { BATCH, prepareEngine, type Workload } from '../../test/support/workload/workload.js';

/** `keyed`: the share of client commands with a key, not counting prices and time. */
export function asClientsSend(
  workload: Workload,
  keyed: number,
): Pick<Workload, 'commands' | 'digest'> {
  const { options } = workload;
  const random = new Random(`${options.seed} keys`);
  const commands = new CommandList(workload.commands.length);
  for (let i = 0; i < workload.commands.length; ) {
    const isBatch = workload.batchStarts.has(i);
    const command = isBatch ? batchAt(workload.commands, i) : workload.commands.read(i);
    if ('idempotencyKey' in command && random.chance(keyed))
      command.idempotencyKey = keyOf(options.seed, i);
    commands.append(command, workload.commands.atMs(i));
    i += isBatch ? BATCH : 1;
  }
  const engine = prepareEngine(workload.setup);
  const counts = eventsOf(engine, commands);
  if (!isDeepStrictEqual(counts, workload.statistics.events.byEvent))
    throw new Error('with keys and batches the engine has other events');
  return { commands, digest: engine.digest() };
}

function batchAt(commands: CommandList, start: number): Command {
  const operations = Array.from({ length: BATCH }, (_, i) => commands.read(start + i));
  const [first] = operations as BatchOperation[];
  return {
    kind: 'batch',
    userId: first!.userId,
    idempotencyKey: null,
    operations: operations as BatchOperation[],
    atomic: false,
  };
}

/** In UUID form, as most clients make keys. */
function keyOf(seed: string, i: number): string {
  const hex = createHash('sha256').update(`${seed} ${i}`).digest('hex');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*/, '$1-$2-$3-$4-$5');
}

function eventsOf(engine: Engine, commands: CommandList): Map<string, number> {
  const counts = new Map<string, number>();
  for (let i = 0; i < commands.length; i++) {
    commands.applyTo(engine, i, i + 1);
    eachEvent(engine.events, (name) => counts.set(name, (counts.get(name) ?? 0) + 1));
  }
  return counts;
}
