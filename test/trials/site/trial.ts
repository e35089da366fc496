/**
 * Two browsers trade beside the example bots, over several markets. Every balance that their pages
 * have shown equals the statement's at the sequence beside it, and the last one equals that of
 * /balance.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as client from '../../../gateway/client/index.js';
import type { Paging } from '../../../gateway/client/terms.js';
import { Visitor } from '../../gateway/site/browser.js';
import { eventually } from '../../support/eventually.js';
import { extent, SEED } from '../../support/extent.js';
import { ChildServer } from '../../support/programs.js';
import type { ApiClient } from '../../support/server.js';
import { launchBrowser } from '../../support/site/browser.js';
import { Random } from '../../support/workload/random.js';

const RUN_MS = extent(600_000, 6_000);
const SAMPLE_EVERY_MS = 200;
const BALANCES_MIN = 5;
const EXAMPLES = fileURLToPath(new URL('../../../dist/gateway/client/examples', import.meta.url));

const random = new Random(SEED);
const bots: ChildProcess[] = [];
let browser: Browser;
let folder: string;
let server: ChildServer;
let http: ApiClient;
beforeAll(async () => {
  browser = await launchBrowser();
  folder = await mkdtemp(join(tmpdir(), 'site-'));
  const data = join(folder, 'data');
  server = ChildServer.spawn({ DATA_FOLDER: data, FEED_SPEED: '60', LOG_LEVEL: 'warn' });
  http = await server.listening();
});
afterAll(async () => {
  for (const bot of bots) bot.kill('SIGKILL');
  await browser.close();
  // Undefined if the server did not start.
  await http?.close();
  await server.stop();
  await rm(folder, { recursive: true });
});

function startBot(name: string): void {
  const args = [
    join(EXAMPLES, `${name}.js`),
    `${http.url}/api`,
    name,
    join(folder, `${name}.json`),
  ];
  bots.push(spawn(process.execPath, args, { stdio: 'ignore' }));
}

/** A balance that a page has shown, with the sequence beside it. */
interface Shown {
  sequence: number;
  availableMicros: number;
  heldMicros: number;
}

/** A person: one tab for trading, another with the account. */
interface Person {
  visitor: Visitor;
  account: Page;
  shown: Shown[];
  api: client.Api;
  userId: string;
}

const people: Person[] = [];

async function enter(name: string): Promise<Person> {
  const visitor = await Visitor.open(browser, http.url);
  await visitor.register(name);
  await visitor.page.getByLabel('Skip confirmation').check();
  const account = await visitor.newTab();
  await account.evaluate("location.hash = '#/account'");
  await account.locator('[data-figure=available]').waitFor();
  const token = await visitor.token();
  const api = new client.Api({ url: `${http.url}/api`, token });
  const { userId } = await client.session(api);
  return { visitor, account, shown: [], api, userId };
}

/** All figures at one moment, or null if none is shown yet. */
async function look({ account, shown }: Person): Promise<Shown | null> {
  const texts = await account.evaluate<string[]>(
    // Where the page shows cents, the exact amount is in the tooltip.
    "[document.querySelector('dl[data-sequence]').dataset.sequence, ...['available', 'held'].map((each) => document.querySelector('[data-figure=' + each + '] [title]')?.title ?? '')]",
  );
  const [sequence = '', available = '', held = ''] = texts.map((text) =>
    text.replaceAll(/[$,]/g, ''),
  );
  if (available === '') return null;
  const found = {
    sequence: Number(sequence),
    availableMicros: client.toMicros(available),
    heldMicros: client.toMicros(held),
  };
  if (shown.at(-1)?.sequence !== found.sequence) shown.push(found);
  return found;
}

/** One action by keys; the page shows a refusal. */
async function act({ visitor: { page } }: Person): Promise<void> {
  const { keyboard } = page;
  await page.locator('h1').click();
  const kind = random.pick(['market', 'market', 'limit', 'sell', 'cancel', 'claim'] as const);
  if (kind === 'cancel') await keyboard.press('x');
  else if (kind === 'claim') await keyboard.press('c');
  else if (kind === 'sell') {
    await keyboard.press(random.pick(['u', 'd']));
    await page.locator('h1').click();
    await keyboard.press('w');
    await keyboard.press('Enter');
  } else {
    await keyboard.press('b');
    if (kind === 'limit') {
      await keyboard.press('l');
      await page.locator('#price').fill((random.whole(200, 700) / 1_000).toFixed(3));
      await page.locator('h1').click();
    } else await keyboard.press('m');
    await page.locator('h1').click();
    await keyboard.press(random.pick(['u', 'd']));
    await page.locator('#size').fill(`${random.whole(1, 30)}`);
    await keyboard.press('Enter');
  }
  await expect.poll(() => page.locator('#ticket .send').textContent()).not.toBe('Sending');
}

/**
 * Repeats `work` until `endMs`, and until each page has shown some balances, however slow the
 * machine is.
 */
async function during(endMs: number, everyMs: number, work: () => Promise<unknown>) {
  const isEnough = () => people.every(({ shown }) => shown.length >= BALANCES_MIN);
  while (performance.now() < endMs || !isEnough()) {
    await work();
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}

/**
 * The statement's balances, newest first, once it reaches the sequence. The read is refused with
 * 503 while the history is far behind, as on a busy machine.
 */
async function statement({ api, userId }: Person, sequence: number) {
  let entries: Shown[] = [];
  const page = (paging: Paging) => client.ledger(api, userId, paging);
  await eventually(async () => {
    const { sequence: reached } = await client.ledger(api, userId, { limit: 1 });
    entries = [];
    for await (const { sequence: at, balance } of client.pages(page, 'entries'))
      entries.push({
        sequence: at,
        availableMicros: client.toMicros(balance.available),
        heldMicros: client.toMicros(balance.held),
      });
    return reached >= sequence;
  });
  return entries;
}

test(`balances on the pages are the exchange's, SEED=${SEED}`, {
  timeout: RUN_MS + 240_000,
}, async () => {
  startBot('market-maker');
  startBot('taker');
  people.push(...(await Promise.all(['ada', 'grace'].map(enter))));
  const endMs = performance.now() + RUN_MS;
  await Promise.all(
    people.flatMap((person) => [
      during(endMs, 300, () => act(person)),
      during(endMs, SAMPLE_EVERY_MS, () => look(person)),
    ]),
  );
  for (const bot of bots) bot.kill('SIGKILL');
  for (const person of people) {
    const { visitor, api, userId, shown } = person;
    await visitor.page.locator('h1').click();
    await visitor.page.keyboard.press('x');
    // A settlement may come between the two reads, so they are repeated until both have the same
    // sequence.
    await eventually(async () => {
      const last = await look(person);
      const { available, held, sequence } = await client.balance(api, userId);
      const micros = { available: client.toMicros(available), held: client.toMicros(held) };
      return (
        last !== null &&
        last.sequence <= sequence &&
        micros.available === last.availableMicros &&
        micros.held === last.heldMicros
      );
    });
    const entries = await statement(person, shown.at(-1)!.sequence);
    for (const seen of shown) {
      const { availableMicros, heldMicros } = entries.find(
        ({ sequence }) => sequence <= seen.sequence,
      )!;
      expect(seen, `at sequence ${seen.sequence}`).toEqual({
        sequence: seen.sequence,
        availableMicros,
        heldMicros,
      });
    }
    process.stdout.write(
      `${shown.length} balances shown, ${entries.length} entries in the statement\n`,
    );
    await visitor.close();
  }
});
