/** A table of contestants that run alternately, each compared with a bare ladder. */
import type { Engine } from '../../engine/engine.js';
import { median } from '../../test/support/processes/samples.js';
import type { Workload } from '../../test/support/workload/workload.js';
import { type RaceOptions, race, type Start } from '../measure/race.js';
import type { Cell, Part } from '../measure/report.js';

export interface Contestant {
  name: string;
  figure: string;
  commands: number;
  start: Start;
  /** null if there is nothing for a ladder to do. */
  ladder: Start | null;
  /** Another contestant, by its figure, and the name of the ratio to it. */
  versus?: { base: string; figure: string };
}

export interface Comparison extends RaceOptions {
  title: string;
  rate: 'CommandsPerSecond' | 'PerSecond';
  contestants: readonly Contestant[];
  /** Also the column's heading. */
  versus?: { of: 'speed' | 'time'; column: string };
}

export function compare(comparison: Comparison): Part {
  const { title, rate, rounds } = comparison;
  const { of, column } = comparison.versus ?? { of: 'speed', column: null };
  const contestants = withLadders(comparison.contestants);
  const times = race(
    contestants.map(({ start }) => start),
    comparison,
  );
  const figures: Record<string, number> = {};
  const figureOf = (name: string, value: number) => (figures[name] = value);
  const timesOf = (wanted: (contestant: Contestant) => boolean) =>
    times[contestants.findIndex(wanted)]!;

  const rows = contestants.map(({ name, figure, commands, ladder, versus }, i) => {
    const mine = times[i]!;
    const roundMs = mine.map((chunks) => chunks.reduce((sum, ms) => sum + ms, 0));
    const medianMs = median(roundMs);
    const perSecond = (ms: number) => (commands / ms) * 1_000;
    const cells: Cell[] = [
      name,
      figureOf(`${figure}${rate}`, perSecond(medianMs)),
      perSecond(Math.min(...roundMs)),
      perSecond(Math.max(...roundMs)),
      (medianMs / commands) * 1e6,
    ];
    const its = ladder === null ? null : timesOf(({ start }) => start === ladder);
    cells.push(its === null ? '' : figureOf(`${figure}OfLadder`, ratioOf(its, mine)));
    const base = versus && timesOf((each) => each.figure === versus.base);
    const [above, below] = of === 'time' ? [mine, base] : [base, mine];
    if (column === null) return cells;
    return [...cells, versus ? figureOf(versus.figure, ratioOf(above!, below!)) : ''];
  });
  const columns = ['', 'commands/s', 'best round', 'worst round', 'ns/command', 'of its ladder'];
  return {
    table: {
      title: `${title}, median of ${rounds} rounds`,
      columns: column === null ? columns : [...columns, column],
      rows,
    },
    figures,
  };
}

/** After the last contestant that uses it. */
function withLadders(contestants: readonly Contestant[]): Contestant[] {
  return contestants.flatMap((contestant, i) => {
    const { figure, ladder, commands } = contestant;
    if (ladder === null || contestants.findLastIndex((each) => each.ladder === ladder) !== i)
      return [contestant];
    const itself = {
      name: 'its ladder',
      figure: `${figure}Ladder`,
      commands,
      start: ladder,
      ladder: null,
    };
    return [contestant, itself];
  });
}

/** The median of the chunks' ratios: a temporary slowdown of the machine affects both. */
function ratioOf(above: readonly number[][], below: readonly number[][]): number {
  return median(above.flatMap((round, i) => round.map((ms, chunk) => ms / below[i]![chunk]!)));
}

/** Checks the engine's final digest. */
export function engineStart(
  prepare: () => Engine,
  { commands, digest }: Pick<Workload, 'commands' | 'digest'>,
): Start {
  return () => {
    const engine = prepare();
    return {
      length: commands.length,
      advance: (from, to) => commands.applyTo(engine, from, to),
      finish: () => checkDigest(engine, digest),
    };
  };
}

export function checkDigest(engine: Engine, planned: string): void {
  if (engine.digest() === planned) return;
  throw new Error(`the engine ended with the digest ${engine.digest()}, the plan with ${planned}`);
}
