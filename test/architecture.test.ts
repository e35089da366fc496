/**
 * The rules of the architecture, checked against the source: which folder may import which, and what the engine must
 * never call.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '..');

/** What each folder may import from, besides packages. */
const MAY_IMPORT: Record<string, readonly string[]> = {
  engine: ['engine'],
  persistence: ['engine', 'persistence'],
  gateway: ['engine', 'persistence', 'gateway'],
  bench: ['engine', 'persistence', 'gateway', 'bench'],
};

interface Source {
  path: string;
  folder: string;
  text: string;
  imports: string[];
}

function sourcesOf(folder: string): Source[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => {
      const path = join(ROOT, folder, name);
      const text = readFileSync(path, 'utf8');
      const imports = [...text.matchAll(/(?:from|import\()\s*'([^']+)'/g)].map((match) => match[1]!);
      return { path: relative(ROOT, path), folder, text, imports };
    });
}

/** Without comments and strings, so that prose may name what code must not call. */
function codeOf(source: Source): string {
  return source.text
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/\/\/.*$/gm, '')
    .replace(/'(?:[^'\\\n]|\\.)*'/g, "''");
}

const engine = sourcesOf('engine');
const all = Object.keys(MAY_IMPORT).flatMap(sourcesOf);

describe('imports', () => {
  test('there is source to check', () => {
    expect(engine.length).toBeGreaterThan(20);
    expect(all.some((source) => source.folder === 'gateway')).toBe(true);
  });

  test.each(all.map((source) => [source.path, source] as const))('%s goes one way only', (_path, source) => {
    for (const name of source.imports.filter((name) => name.startsWith('.'))) {
      const target = relative(ROOT, resolve(ROOT, dirname(source.path), name)).split('/')[0]!;
      expect(MAY_IMPORT[source.folder]).toContain(target);
    }
  });

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

  test.each(BANNED)('it never says %s', (word) => {
    const pattern = new RegExp(`\\b${word.replace('.', '\\.')}\\b`);
    expect(engine.filter((source) => pattern.test(codeOf(source))).map((source) => source.path)).toEqual([]);
  });

  test('it has no fractional number', () => {
    expect(engine.filter((source) => /\b\d+\.\d/.test(codeOf(source))).map((source) => source.path)).toEqual(
      [],
    );
  });
});

describe('the environment', () => {
  test('only gateway/main.ts reads environment variables', () => {
    const readers = all.filter(
      (source) => /\bprocess\.env\b/.test(codeOf(source)) && source.folder !== 'bench',
    );
    expect(readers.map((source) => source.path)).toEqual(['gateway/main.ts']);
  });

  test('only gateway/time/clock.ts reads the clock', () => {
    const readers = all.filter((source) => /\b(Date\.now|performance\.now)\b/.test(codeOf(source)));
    expect(readers.filter((source) => source.folder !== 'bench').map((source) => source.path)).toEqual([
      'gateway/time/clock.ts',
    ]);
  });
});

test('only gateway/http/router.ts registers with uWebSockets.js; what anybody else imports of it are types', () => {
  const users = all.filter(
    ({ folder, text }) => folder === 'gateway' && /^import (?!type )[^;]*from 'uWebSockets\.js'/m.test(text),
  );
  expect(users.map((source) => source.path)).toEqual(['gateway/http/router.ts']);
});
