/**
 * The served guides: /llms.txt and each guide link only to existing pages, and the recipes work as
 * programs in each of their languages.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.js';
import { findPython } from '../../support/load/bots.js';
import { TestServer, WINDOW_MS, WINDOW_START_MS } from '../../support/server.js';
import { ROOT } from '../../support/sources.js';

const python = await findPython();

let server: TestServer;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'recipes-'));
  const installed = join(folder, 'node_modules/quarter-hour-client');
  mkdirSync(installed, { recursive: true });
  const archive = join(ROOT, 'dist/downloads/quarter-hour-client.tgz');
  execFileSync('tar', ['-xzf', archive, '-C', installed, '--strip-components=1']);
});
afterAll(() => rmSync(folder, { recursive: true }));

describe('links', () => {
  beforeAll(async () => {
    server = await TestServer.start();
  });
  afterAll(() => server.stop());

  test('lead to pages of this exchange', async () => {
    const pages = new Map<string, string>();
    const waiting = ['/llms.txt'];
    for (const page of waiting) {
      const answer = await fetch(server.api.url + page);
      expect(answer.status, page).toBe(200);
      pages.set(page, await answer.text());
      for (const [, to] of pages.get(page)!.matchAll(/\]\(([^)#\s]+)/g))
        if (!/^https?:/.test(to!) && !waiting.includes(to!)) waiting.push(to!);
    }
    for (const name of ['recipes', 'api', 'protocol', 'rules'])
      expect(pages.get(`/api/docs/${name}.md`)).toMatch(/^# /);
    expect(await (await fetch(server.api.url)).text()).toContain('/api/docs/recipes.md');
  });
});

/** How each language runs the blocks, and waits for an input line. */
const LANGUAGES = {
  sh: { program: 'bash', file: 'recipes.sh', wait: 'read -r LINE' },
  ts: {
    program: process.execPath,
    file: 'recipes.mjs',
    wait: "await new Promise((resolve) => process.stdin.once('data', resolve)); process.stdin.destroy();",
  },
  python: { program: python?.program ?? '', file: 'recipes.py', wait: 'input()' },
} as const;
type Language = keyof typeof LANGUAGES;
const hasCurl = spawnSync('curl', ['--version']).status === 0;
const canRun: Record<Language, boolean> = { sh: hasCurl, ts: true, python: python !== null };

/** A language's blocks, with a wait before the claim, which needs a decided market. */
function programOf(language: Language): string {
  const recipes = readFileSync(join(ROOT, 'gateway/RECIPES.md'), 'utf8');
  const blocks = recipes.matchAll(new RegExp(`^\`\`\`${language}\n([^]*?)^\`\`\`$`, 'gm'));
  const texts = Array.from(blocks, ([, text]) => text!);
  expect(texts).toHaveLength(11);
  texts.splice(
    -1,
    0,
    `${LANGUAGES[language].wait}
`,
  );
  return texts.join('').replaceAll('http://127.0.0.1:3000', server.api.url);
}

describe.each(Object.keys(LANGUAGES) as Language[])('the recipes in %s', (language) => {
  beforeAll(async () => {
    server = await TestServer.withMarket();
  });
  afterAll(() => server.stop());

  test.skipIf(!canRun[language])('buy, sell, rest, cancel and claim', async () => {
    const maker = await server.register('maker');
    for (const [outcome, price] of [
      ['DOWN', 0.5],
      ['UP', 0.4],
    ] as const)
      await server.buy(maker, { outcome, shares: 1_000, price, timeInForce: 'GTC' });
    const { program, file } = LANGUAGES[language];
    writeFileSync(join(folder, file), programOf(language));
    const python = {
      PYTHONPATH: join(ROOT, 'gateway/client/python'),
      PYTHONUNBUFFERED: '1',
      PYTHONDONTWRITEBYTECODE: '1',
    };
    const env = { ...process.env, ...python };
    const child = spawn(program, [file], { cwd: folder, env });
    let said = '';
    for (const output of [child.stdout, child.stderr]) output.on('data', (data) => (said += data));
    const ended = new Promise((resolve) => child.on('close', resolve));
    await eventually(() => child.exitCode !== null || said.includes('positionId'));
    expect(child.exitCode, said).toBeNull();
    await server.passTime(WINDOW_START_MS + WINDOW_MS + 5_000, 100_001);
    child.stdin.end('go\n');
    expect(await ended, said).toBe(0);
    // Bought 20 UP at 0.5 with a fee of 0.05 and sold 1 at 0.4. The other 19 paid a dollar each.
    const { engine } = server.exchange.sequencer;
    expect(engine.availableMicros(2), said).toBe(10_009_350_000);
    expect(engine.orderCount(2), said).toBe(0);
    for (const part of ['bids', 'filled', 'resting', 'cancelled', 'held', 'payout'])
      expect(said, part).toContain(part);
  });
});
