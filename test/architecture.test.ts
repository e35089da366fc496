/**
 * The architecture rules, checked against the source: which folders exist, which may import which,
 * and what the engine must never call.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type RolldownOptions, rolldown } from 'rolldown';
import { describe, expect, test } from 'vitest';
import { ROOT, reachableFrom, type Source, sourcesOf } from './support/sources.js';
import { MUTATIONS } from './trials/mutations/mutations.js';

/** The top-level folders, lowest first. Each imports from itself and from those below it. */
const FOLDERS = ['engine', 'persistence', 'gateway', 'test', 'bench'];
const folderOf = (path: string) => path.split('/')[0]!;
/** Other top-level entries: the CI script, and folders that a fresh checkout does not contain. */
const OTHER_FOLDERS = ['.ci', '.git', 'node_modules', 'dist', 'data', 'coverage'];
/** The engine's folders, lowest first; the last two are files. */
const ENGINE_ROOMS = ['storage', 'interface', 'state', 'rules', 'reads', 'engine'];
const MAX_FILES_PER_FOLDER = 16;

/** The code without comments and strings, which may name what code must not call. */
function codeOf(source: Source): string {
  return source.text
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/\/\/.*$/gm, '')
    .replace(/'(?:[^'\\\n]|\\.)*'/g, "''");
}

const engine = sourcesOf('engine');
const everything = FOLDERS.flatMap(sourcesOf);
const all = everything.filter((source) => source.folder !== 'test');
const { default: bundles }: { default: RolldownOptions[] } = await import(
  join(ROOT, 'rolldown.config.ts')
);

/** The rank of a file's folder within the engine; a higher one may import a lower one. */
function floorOf(path: string): number {
  return ENGINE_ROOMS.indexOf(path.split('/')[1]!.replace(/\.ts$/, ''));
}

/** Groups of files that import each other, directly or indirectly, including imports of types. */
function cycles(sources: readonly Pick<Source, 'path' | 'targets'>[]): string[][] {
  const targetsOf = new Map(sources.map((source) => [source.path, source.targets]));
  const reached = new Map(
    sources.map(({ path }) => [path, reachableFrom(path, (each) => targetsOf.get(each) ?? [])]),
  );
  const groups = new Set<string>();
  for (const [path, seen] of reached) {
    if (!seen.has(path)) continue;
    groups.add(
      [...seen]
        .filter((other) => reached.get(other)?.has(path))
        .sort()
        .join(),
    );
  }
  return [...groups].map((group) => group.split(','));
}

describe('folders', () => {
  test('the top level has only the folders listed here', () => {
    const entries = readdirSync(ROOT, { withFileTypes: true });
    const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
    expect(folders.filter((name) => ![...FOLDERS, ...OTHER_FOLDERS].includes(name))).toEqual([]);
  });

  test(`none has more than ${MAX_FILES_PER_FOLDER} source files`, () => {
    const counts = new Map<string, number>();
    for (const { path } of everything)
      counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1);
    expect([...counts].filter(([, count]) => count > MAX_FILES_PER_FOLDER)).toEqual([]);
  });
});

describe('imports', () => {
  test('finds source files to check', () => {
    expect(engine.length).toBeGreaterThan(20);
    expect(all.some((source) => source.folder === 'gateway')).toBe(true);
  });

  test('every import names a file that exists', () => {
    const missing = ({ targets }: Source) =>
      targets.filter((target) => !existsSync(join(ROOT, target)));
    expect(all.flatMap(missing)).toEqual([]);
  });

  test('no file imports from a folder above its own', () => {
    const above = everything.flatMap(({ path, targets }) => {
      const below = FOLDERS.slice(0, FOLDERS.indexOf(folderOf(path)) + 1);
      const upwards = targets.filter((target) => !below.includes(folderOf(target)));
      return upwards.map((target) => `${path} imports ${target}`);
    });
    expect(above).toEqual([]);
  });

  test('engine folders import nothing from a folder above their own', () => {
    for (const source of engine) {
      expect(floorOf(source.path), source.path).not.toBe(-1);
      const above = source.targets.filter((target) => floorOf(target) > floorOf(source.path));
      expect(above, source.path).toEqual([]);
    }
  });

  test('there are no import cycles, types included', () => {
    expect(cycles(everything)).toEqual([]);
  });

  test.each(['gateway', 'persistence'])(
    'the rooms of %s import each other in one direction',
    (top) => {
      const targets = new Map<string, string[]>();
      const roomOf = (path: string) => new RegExp(`^${top}/[^/]+(?=/)`).exec(path)?.[0];
      for (const source of all) {
        const room = roomOf(source.path);
        if (room === undefined) continue;
        const others = source.targets.flatMap((target) => roomOf(target) ?? []);
        targets.set(room, [
          ...(targets.get(room) ?? []),
          ...others.filter((name) => name !== room),
        ]);
      }
      expect(targets.size).toBeGreaterThan(5);
      expect(cycles(Array.from(targets, ([path, targets]) => ({ path, targets })))).toEqual([]);
    },
  );

  test('the engine imports nothing outside itself', () => {
    for (const source of engine) {
      expect(
        source.imports.filter((name) => !name.startsWith('.')),
        source.path,
      ).toEqual([]);
    }
  });
});

describe('the engine is pure', () => {
  const BANNED = [
    'Date',
    'Math.random',
    'performance',
    'process',
    'setTimeout',
    'setImmediate',
    'Promise',
    'async',
    'crypto',
    'parseFloat',
    'console',
    'require',
    'globalThis',
  ];

  test.each(BANNED)('never uses %s', (word) => {
    const pattern = new RegExp(`\\b${word.replace('.', '\\.')}\\b`);
    expect(
      engine.filter((source) => pattern.test(codeOf(source))).map((source) => source.path),
    ).toEqual([]);
  });

  test('has no fractional number', () => {
    expect(
      engine.filter((source) => /\b\d+\.\d/.test(codeOf(source))).map((source) => source.path),
    ).toEqual([]);
  });
});

describe('the environment', () => {
  test('only gateway/main.ts reads environment variables', () => {
    const readers = all.filter(
      (source) => /\bprocess\.env\b/.test(codeOf(source)) && source.folder !== 'bench',
    );
    expect(readers.map((source) => source.path)).toEqual(['gateway/main.ts']);
  });

  test('only gateway/observe/clock.ts, and in a browser the clock of the site, reads the clock', () => {
    const readers = all.filter((source) => /\b(Date\.now|performance\.now)\b/.test(codeOf(source)));
    expect(
      readers
        .filter((source) => source.folder !== 'bench')
        .map((source) => source.path)
        .sort(),
    ).toEqual(['gateway/observe/clock.ts', 'gateway/site/app/model/clock.ts']);
  });
});

test('only gateway/http/acceptor.ts imports uWebSockets.js at run time; other files import its types', () => {
  const users = all.filter(
    ({ folder, text }) =>
      folder === 'gateway' && /^import (?!type )[^;]*from 'uWebSockets\.js'/m.test(text),
  );
  expect(users.map((source) => source.path)).toEqual(['gateway/http/acceptor.ts']);
});

test('a name that the gateway exports means one thing', () => {
  const exporters = new Map<string, string[]>();
  // Fields of schemas have the name of what they are a field of.
  const exported =
    /^export (?:async |abstract )*(?:type|interface|class|function\*?|const) ([A-Z]\w*)/gm;
  for (const { path, text } of all) {
    if (!/^gateway\/(?!site\/|client\/)/.test(path)) continue;
    for (const name of new Set(Array.from(text.matchAll(exported), ([, name]) => name!)))
      exporters.set(name, [...(exporters.get(name) ?? []), path]);
  }
  expect(exporters.size).toBeGreaterThan(300);
  expect([...exporters].filter(([, paths]) => paths.length > 1)).toEqual([]);
});

describe('the client', () => {
  const client = everything.filter(({ path }) => path.startsWith('gateway/client/'));
  const isOwn = (name: string) => name.startsWith('gateway/client/');

  test('needs no package and no other folder at run time; from those it imports types', () => {
    expect(client.length).toBeGreaterThan(10);
    // The example bots run in Node.js, and keep their books in files. The class for ccxt extends
    // one of ccxt's.
    const isApart = (path: string) => /^gateway\/client\/(examples|ccxt)\//.test(path);
    for (const { path, needs } of client.filter(({ path }) => !isApart(path)))
      expect(
        needs.filter((name) => !isOwn(name)),
        path,
      ).toEqual([]);
  });
});

test('comments keep to the line width of code', () => {
  const { formatter } = JSON.parse(readFileSync(`${ROOT}/biome.json`, 'utf8'));
  const isWide = (line: string) => line.length > formatter.lineWidth;
  const isComment = (line: string) => /^\s*(\/\/(?! biome-ignore)|\/?\*)/.test(line);
  const wide = everything.flatMap(({ path, text }) =>
    text
      .split('\n')
      .filter((line) => isComment(line) && isWide(line))
      .map((line) => `${path}: ${line}`),
  );
  expect(wide).toEqual([]);
});

test('the documents name files that exist', () => {
  const folders = ['.', ...new Set(everything.map(({ path }) => dirname(path)))];
  const texts = folders.flatMap((folder) =>
    readdirSync(join(ROOT, folder))
      .filter((name) => name.endsWith('.md'))
      .map((name) => readFileSync(join(ROOT, folder, name), 'utf8')),
  );
  const named = texts.flatMap((text) =>
    [...text.matchAll(/`((?:engine|persistence|gateway|bench|test)\/[\w./-]+\.ts)`/g)].map(
      ([, path]) => path!,
    ),
  );
  expect(named.length).toBeGreaterThan(30);
  expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});

test('the tests that reports.md names exist, by file and title', () => {
  const text = readFileSync(join(ROOT, 'test/trials/reports.md'), 'utf8');
  const rows = [...text.matchAll(/\| `([\w./-]+\.ts)` "([^|]+)" \|$/gm)];
  expect(rows.length).toBeGreaterThan(100);
  // Each table has two lines before its rows.
  const lines = text.match(/^\|/gm)!.length - 2 * text.match(/^\|---/gm)!.length;
  expect(rows).toHaveLength(lines);
  const missing = rows.filter(([, path, title]) => {
    const file = join(ROOT, path!);
    const starts = ["'", '"', '`', '} '].map((before) => before + title);
    return !existsSync(file) || !starts.some((start) => readFileSync(file, 'utf8').includes(start));
  });
  expect(missing.map(([row]) => row)).toEqual([]);
});

test('the mutations name lines and tests that exist', () => {
  for (const { mistake, file, from, noticedBy } of MUTATIONS) {
    expect(readFileSync(join(ROOT, file), 'utf8').split(from), mistake).toHaveLength(2);
    expect(existsSync(join(ROOT, `test/${noticedBy}.test.ts`)), mistake).toBe(true);
  }
});

describe('bundles', () => {
  const needs = new Map(everything.map((source) => [source.path, source.needs]));
  const appliesCommands = (path: string) =>
    reachableFrom(path, (each) => needs.get(each) ?? []).has('engine/engine.ts');

  test('every program and thread of the exchange that applies commands is one', () => {
    const started = all.flatMap(({ text }) =>
      [...text.matchAll(/compiledFile\(\s*'([^']+)\.js'/g)].map((match) => `${match[1]}.ts`),
    );
    const programs = all.map(({ path }) => path).filter((path) => path.endsWith('/main.ts'));
    const ofExchange = [...new Set([...started, ...programs])].filter(
      (path) => !path.startsWith('bench/') && appliesCommands(path),
    );
    expect(ofExchange.length).toBeGreaterThan(3);
    const inputs = bundles.map(({ input }) => input);
    expect(ofExchange.filter((path) => !inputs.includes(path))).toEqual([]);
  });

  test('each is one module that imports packages only and exports nothing', async () => {
    for (const { output, ...input } of bundles) {
      const bundle = await rolldown(input);
      const [module, ...others] = (await bundle.generate(output as object)).output;
      await bundle.close();
      expect(others.filter(({ type }) => type === 'chunk')).toEqual([]);
      expect(module.exports).toEqual([]);
      expect(module.imports.filter((name) => /^[./]/.test(name))).toEqual([]);
    }
  });
});

// The packages run under the Node.js that npm installs, whatever version the machine has.
test('npm ci does not warn of engines: none in the lock file needs more than Node.js 20', () => {
  const { packages } = JSON.parse(readFileSync(`${ROOT}/package-lock.json`, 'utf8'));
  const needing = Object.keys(packages).filter((path) =>
    /^\^?(>=)? *2[1-9]/.test(packages[path].engines?.node ?? ''),
  );
  expect(needing, 'take their "engines" out of package-lock.json').toEqual([]);
});
