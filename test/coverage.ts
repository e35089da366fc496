/**
 * `npm run coverage`: which branches of engine/, of persistence/ and of the gateway's way from an
 * order to its receipt the tests of these folders take, as far as the code runs in the test's own
 * threads. Code that only a process or a thread of its own runs (dist/) counts as not taken: of
 * persistence/ the reads of the history, of gateway/http/ compression. Prints each file's missed
 * branches by line. Exit status 1: a test failed, or a folder is below its threshold.
 *
 * Always holds: the seed is fixed, so a run is repeatable. A branch of the engine that only throws
 * an Error is an assertion: it cannot be taken unless there is a bug, and does not count.
 */
import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { createVitest } from 'vitest/node';

const ROOT = join(import.meta.dirname, '..');
/** The least share of branches, in percent. */
const THRESHOLDS = {
  'gateway/http': 86,
  'gateway/json': 97,
  'gateway/resources/batch': 94,
  'gateway/resources/orders': 99,
  persistence: 84,
  engine: 99.9,
};
const TESTS = [
  'engine',
  'persistence',
  'gateway/access',
  'gateway/http',
  'gateway/limits',
  'gateway/resources',
  'gateway/stream',
];
const ASSERTION = /^if \([^;]*?\)\s*\{?\s*throw new Error\(/;

type Folder = keyof typeof THRESHOLDS;
interface Place {
  line?: number;
  column?: number;
}
interface FileCoverage {
  branchMap: Record<string, { loc: Span; locations: Span[] }>;
  b: Record<string, number[]>;
}
interface Span {
  start: Place;
  end: Place;
}
/** Of istanbul. */
interface CoverageMap {
  files(): string[];
  fileCoverageFor(path: string): FileCoverage;
}

function report(map: CoverageMap, folder: Folder): boolean {
  let [branches, taken] = [0, 0];
  for (const path of map.files().sort()) {
    const name = relative(ROOT, path);
    if (!name.startsWith(`${folder}/`)) continue;
    const lines = readFileSync(path, 'utf8').split('\n');
    const { branchMap, b } = map.fileCoverageFor(path);
    const missed: number[] = [];
    for (const [id, { loc, locations }] of Object.entries(branchMap)) {
      const from = loc.start.line! - 1;
      const text = lines.slice(from, loc.end.line!).join('\n').slice(loc.start.column!);
      const isAssertion = folder === 'engine' && ASSERTION.test(text);
      b[id]!.forEach((times, i) => {
        if (times === 0 && isAssertion && i === 0) return;
        branches++;
        if (times > 0) taken++;
        else missed.push(locations[i]!.start.line ?? loc.start.line!);
      });
    }
    if (missed.length > 0) process.stdout.write(`${name}: ${missed.join(', ')}\n`);
  }
  const percent = Math.floor((10_000 * taken) / branches) / 100;
  process.stdout.write(`${folder}/: ${taken} of ${branches} branches, ${percent} %\n`);
  return percent >= THRESHOLDS[folder];
}

let map: CoverageMap | undefined;
const vitest = await createVitest('test', {
  root: ROOT,
  watch: false,
  reporters: [
    'default',
    {
      onCoverage: (found) => {
        map = found as CoverageMap;
      },
    },
  ],
  coverage: {
    enabled: true,
    provider: 'v8',
    include: Object.keys(THRESHOLDS).map((folder) => `${folder}/**/*.ts`),
    reporter: [],
  },
});
for (const project of vitest.projects) project.provide('seed', '1');
const { unhandledErrors } = await vitest.start(TESTS.map((folder) => `test/${folder}`));
await vitest.close();
const isEnough = (Object.keys(THRESHOLDS) as Folder[]).map((folder) => report(map!, folder));
if (unhandledErrors.length > 0 || isEnough.includes(false)) process.exitCode = 1;
