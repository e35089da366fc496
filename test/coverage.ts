/**
 * `npm run coverage`: which branches of engine/, of persistence/ and of the gateway's way from an
 * order to its receipt their tests take: in the tests themselves, and in the threads and processes
 * that run dist/. Node.js writes the counts of those when they end; a process that is killed writes
 * none. Prints each file's missed branches by line. Exit status 1: a test failed, or a folder is
 * below its threshold.
 *
 * Invariant: the seed is fixed, so a run is repeatable but for a branch or two that depend on
 * moments. A branch that only throws a plain Error, or passes on one that nothing there expects, is
 * an assertion: it cannot be taken unless there is a bug, and does not count.
 */
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import type { Profiler } from 'node:inspector';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
// @ts-expect-error: the package has no types.
import { mergeProcessCovs } from '@bcoe/v8-coverage';
import convert from 'ast-v8-to-istanbul';
import { createVitest, parseAstAsync } from 'vitest/node';

const ROOT = join(import.meta.dirname, '..');
const DIST = `${pathToFileURL(join(ROOT, 'dist'))}/`;
/** The minimum share of branches, in percent. */
const THRESHOLDS = {
  'gateway/http': 95.5,
  'gateway/json': 98.5,
  'gateway/resources/batch': 100,
  'gateway/resources/orders': 99,
  persistence: 95,
  engine: 99.9,
};
const TESTS = [
  'engine',
  'persistence',
  'gateway/access',
  'gateway/edge',
  'gateway/http',
  'gateway/limits',
  'gateway/resources',
  'gateway/stream',
  'end-to-end',
];
const ASSERTION = /^(if \([^;]*?\)\s*\{?|default:)?\s*throw (new Error\(|error;)/;

type Folder = keyof typeof THRESHOLDS;
interface Place {
  line?: number;
  column?: number;
}
interface Span {
  start: Place;
  end: Place;
}
interface Branch {
  type: string;
  loc: Span;
  locations: Span[];
}
/** The coverage of a file, in istanbul's format. */
interface FileCoverage {
  branchMap: Record<string, Branch>;
  b: Record<string, number[]>;
}
interface CoverageMap {
  files(): string[];
  fileCoverageFor(path: string): FileCoverage;
}
interface Counts {
  result: Profiler.ScriptCoverage[];
}

/** Adds the counts of the processes and threads that have ended since the last call. */
function collect(): void {
  for (const name of readdirSync(countsFolder)) {
    const path = join(countsFolder, name);
    let counts: Counts;
    try {
      counts = JSON.parse(readFileSync(path, 'utf8'));
    } catch {
      // The file is still being written, or its process was killed while writing.
      continue;
    }
    rmSync(path);
    const result = counts.result.filter(({ url }) => url.startsWith(DIST));
    built = mergeProcessCovs([built, { result }]);
  }
}

/**
 * The places where the branch's alternatives begin. These are the same in the output of tsc,
 * rolldown and vitest; the places where they end are not.
 */
function alternativesOf({ type, loc, locations }: Branch): string[] {
  return locations.map(({ start }, i) => {
    const { line, column } = start.line === undefined ? loc.start : start;
    return `${type} ${i} ${line}:${column}`;
  });
}

/**
 * Credits branches taken in a file of dist/ to its source files. A branch that rolldown rewrites
 * cannot be mapped, and counts as not taken.
 */
async function addBuilt(map: CoverageMap, coverage: Profiler.ScriptCoverage): Promise<void> {
  const path = fileURLToPath(coverage.url);
  const code = readFileSync(path, 'utf8');
  const sourceMap = JSON.parse(readFileSync(`${path}.map`, 'utf8'));
  const found = await convert({ code, sourceMap, ast: parseAstAsync(code), coverage });
  const sources = new Set(map.files());
  for (const { path: source, branchMap, b } of Object.values(found)) {
    if (!sources.has(source)) continue;
    const taken = new Set<string>();
    for (const [id, branch] of Object.entries(branchMap))
      alternativesOf(branch).forEach((name, i) => {
        if (b[id]![i]! > 0) taken.add(name);
      });
    const file = map.fileCoverageFor(source);
    for (const [id, branch] of Object.entries(file.branchMap))
      alternativesOf(branch).forEach((name, i) => {
        if (taken.has(name)) file.b[id]![i]!++;
      });
  }
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
      b[id]!.forEach((times, i) => {
        const { line = null, column = 0 } = locations[i]!.start;
        // Without an else, the code that follows is the other alternative.
        const rest = lines.slice(line === null ? loc.end.line! : line - 1).join('\n');
        if (times === 0 && ASSERTION.test(rest.slice(column).trim())) return;
        branches++;
        if (times > 0) taken++;
        else missed.push(line ?? loc.start.line!);
      });
    }
    if (missed.length > 0) process.stdout.write(`${name}: ${missed.join(', ')}\n`);
  }
  const percent = Math.floor((10_000 * taken) / branches) / 100;
  process.stdout.write(`${folder}/: ${taken} of ${branches} branches, ${percent} %\n`);
  return percent >= THRESHOLDS[folder];
}

const countsFolder = mkdtempSync(join(tmpdir(), 'coverage-'));
// Some programs are started as another user.
chmodSync(countsFolder, 0o777);
process.env['NODE_V8_COVERAGE'] = countsFolder;
let built: Counts = { result: [] };
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
      onTestModuleEnd: collect,
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
collect();
rmSync(countsFolder, { recursive: true });
for (const script of built.result) await addBuilt(map!, script);
const isEnough = (Object.keys(THRESHOLDS) as Folder[]).map((folder) => report(map!, folder));
if (unhandledErrors.length > 0 || isEnough.includes(false)) process.exitCode = 1;
