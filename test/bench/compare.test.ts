/** Two builds in turns: whoever goes first, a ratio compares measurements of the same round. */
import { expect, test } from 'vitest';
import { type Build, comparison, inTurns, type Round } from '../../bench/compare/turns.js';

const builds: readonly [Build, Build] = [
  { folder: 'old', variables: {} },
  { folder: 'new', variables: { HOUSE: 'off' } },
];

test('each build goes first in every other round', async () => {
  const order: string[] = [];
  const reported: Round[] = [];
  const measure = async ({ folder, variables }: Build) => {
    order.push(folder);
    return { commands: order.length, variables: Object.keys(variables).length };
  };
  const rounds = await inTurns(3, builds, measure, (round) => reported.push(round));
  expect(order).toEqual(['old', 'new', 'new', 'old', 'old', 'new']);
  expect(rounds.map(([first, second]) => [first['commands'], second['commands']])).toEqual([
    [1, 2],
    [4, 3],
    [5, 6],
  ]);
  expect(rounds.every(([first, second]) => first['variables']! < second['variables']!)).toBe(true);
  expect(reported).toEqual(rounds);
});

test('a machine that slows down between two rounds does not change the ratio', () => {
  const rounds: Round[] = [
    [
      { micros: 10, rate: 4 },
      { micros: 9, rate: 5 },
    ],
    [
      { micros: 100, rate: 2 },
      { micros: 90, rate: 3 },
    ],
    [
      { micros: 20, rate: 8 },
      { micros: 18, rate: 8 },
    ],
  ];
  const { rows } = comparison('buys', rounds);
  expect(rows).toEqual([
    ['micros', 20, 18, 0.9, '0.9 to 0.9'],
    ['rate', 4, 5, 1.25, '1 to 1.5'],
  ]);
});
