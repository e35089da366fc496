/** Measures two builds alternately. A ratio is the median of the rounds' ratios. */

import { median, spread } from '../../test/support/processes/samples.js';
import { type Table, tableOf, textOf } from '../measure/report.js';

/** A folder with a built exchange, and the variables to start it with. */
export interface Build {
  folder: string;
  variables: Readonly<Record<string, string>>;
}

/** By name, which includes the unit. */
export type Measured = Readonly<Record<string, number>>;

export type Round = readonly [Measured, Measured];

export async function inTurns(
  rounds: number,
  builds: readonly [Build, Build],
  measure: (build: Build) => Promise<Measured>,
  done: (round: Round) => void,
): Promise<Round[]> {
  const [first, second] = builds;
  const all: Round[] = [];
  for (let i = 0; i < rounds; i++) {
    let round: Round;
    if (i % 2 === 0) round = [await measure(first), await measure(second)];
    else {
      const ofSecond = await measure(second);
      round = [await measure(first), ofSecond];
    }
    done(round);
    all.push(round);
  }
  return all;
}

/** Medians of both builds. */
export function comparison(title: string, rounds: readonly Round[]): Table {
  const names = Object.keys(rounds[0]![0]);
  const of = (build: 0 | 1, name: string) => rounds.map((round) => round[build][name]!);
  const ratios = (name: string) => rounds.map(([first, second]) => second[name]! / first[name]!);
  return tableOf(title, names, {
    '': (name) => name,
    first: (name) => median(of(0, name)),
    second: (name) => median(of(1, name)),
    'second / first': (name) => median(ratios(name)),
    'in the rounds': (name) => spread(ratios(name), textOf),
  });
}
