/**
 * How a command's CPU time divides. The rest is checks, money, positions, lists and shared caches.
 */
import { CommandRecord } from '../../engine/interface/command-record.js';
import { CommandKind } from '../../engine/interface/commands.js';
import { Taker } from '../../engine/rules/orders/taker.js';
import { Digest } from '../../engine/storage/digest.js';
import { NumberBuffer } from '../../engine/storage/number-buffer.js';
import type { CommandList } from '../../test/support/workload/command-list.js';
import { leastNanos, type Start } from '../measure/race.js';
import { type Part, percent, tableOf } from '../measure/report.js';
import { engineStart } from './comparison.js';
import { ladderStart } from './ladder.js';
import type { Load } from './loads.js';

const ROUNDS = { warmUpRounds: 2, rounds: 5, chunks: 100 };
const KEPT = 100_000;

export function partsOf(load: Load): Part {
  const { figure, title, commands, tape } = load;
  const nanosOf = (start: Start, count = commands.length) => leastNanos(start, ROUNDS) / count;
  const whole = nanosOf(engineStart(load.prepare, load));
  const ladder = nanosOf(ladderStart(tape));
  const numbers = numbersOf(load);
  const written = nanosOf(() => numbers.run(false), numbers.count);
  const digested = nanosOf(() => numbers.run(true), numbers.count);
  const known = {
    'record decoded': nanosOf(() => decoding(commands)),
    'result and events written': written,
    digest: digested - written,
    'a bare ladder': ladder,
  };
  const rest = whole - Object.values(known).reduce((sum, nanos) => sum + nanos, 0);
  const rows = Object.entries({ ...known, 'checks, money, positions, lists': rest, whole });
  return {
    table: tableOf(`${title}: thread CPU time, least of ${ROUNDS.rounds} rounds`, rows, {
      part: ([name]) => name,
      'ns a command': ([, nanos]) => nanos,
      share: ([, nanos]) => percent(nanos / whole),
    }),
    figures: { [`${figure}CpuNanos`]: whole, [`${figure}LadderTimes`]: whole / ladder },
  };
}

function decoding({ records }: CommandList) {
  const command = new CommandRecord();
  const taker = new Taker();
  const advance = () => {
    for (let at = 0; at < records.length; at = command.next) {
      command.open(records, at);
      if (command.kind === CommandKind.buy || command.kind === CommandKind.sell)
        taker.read(command);
    }
  };
  return { length: 1, advance, finish() {} };
}

/** Of the first commands, one buffer after another. */
function numbersOf({ prepare, commands }: Load) {
  const engine = prepare();
  const all = new NumberBuffer();
  const lengths: number[] = [];
  for (let i = 0; i < Math.min(KEPT, commands.length); i++) {
    engine.applyRecord(commands.records, commands.at(i));
    for (const { values, length } of [engine.result, engine.events]) {
      lengths.push(length);
      for (let at = 0; at < length; at++) all.push(values[at]!);
    }
  }
  const digest = new Digest();
  const [result, events] = [new NumberBuffer(), new NumberBuffer()];
  const write = (buffer: NumberBuffer, from: number, length: number) => {
    buffer.clear();
    const to = buffer.reserve(length);
    for (let at = 0; at < length; at++) buffer.values[to + at] = all.values[from + at]!;
    return from + length;
  };
  const run = (digests: boolean) => {
    const advance = () => {
      for (let i = 0, from = 0; i < lengths.length; i += 2) {
        from = write(result, from, lengths[i]!);
        from = write(events, from, lengths[i + 1]!);
        if (!digests) continue;
        digest.add(result, events);
      }
    };
    return { length: 1, advance, finish() {} };
  };
  return { count: lengths.length / 2, run };
}
