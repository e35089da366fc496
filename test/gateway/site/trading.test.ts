/**
 * A person's whole visit in a real browser, on the built program at 60 times the speed: from the
 * first look to a claim, with no error in the console and nothing that axe objects to.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { launchBrowser } from '../../../bench/site/browser.js';
import { eventually } from '../../support/eventually.js';
import { type ApiClient, ChildServer } from '../../support/server.js';
import { Visitor } from './browser.js';

let folder: string;
let server: ChildServer;
let api: ApiClient;
let browser: Browser;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'site-'));
  const variables = { DATA_FOLDER: folder, FEED_SPEED: '60', HOUSE: 'on', LOG_LEVEL: 'warn' };
  server = ChildServer.spawn(variables);
  api = await server.listening();
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser.close();
  await api.close();
  await server.stop();
  await rm(folder, { recursive: true });
});

/** Minutes left of the market that is shown; NaN between two markets. */
async function minutesLeft(page: Page): Promise<number> {
  const text = (await page.locator('.figure-value').first().textContent()) ?? '';
  return Number(text.split(':')[0]);
}

/** There is time for a few clicks: five minutes of the market are five seconds. */
async function earlyInMarket(page: Page): Promise<void> {
  await eventually(async () => (await minutesLeft(page)) >= 9);
}

const amount = (page: Page) => page.getByLabel(/Amount, without the fee|^Shares$/).first();
const sequenceOf = (page: Page) => page.locator('.receipt [data-sequence]');

test('register, look, buy, wait for the end, claim, and look around', async () => {
  const visitor = await Visitor.open(browser, api.url);
  const { page } = visitor;
  await page.locator('.uplot canvas').waitFor();
  await visitor.isAccessible('the market, signed out');

  await visitor.register('ada');
  await visitor.isAccessible('the market, signed in');
  await page.getByLabel('One click: send without asking again').check();

  // Both outcomes, so that one of them is claimed.
  await earlyInMarket(page);
  await amount(page).fill('25');
  await page.getByText(/^If UP wins, pays$/).waitFor();
  await page.getByRole('button', { name: 'Buy UP' }).click();
  await sequenceOf(page).waitFor();
  await page.getByRole('button', { name: /DOWN/ }).first().click();
  await page.getByRole('button', { name: 'Buy DOWN' }).click();
  const positions = page.getByRole('region', { name: 'Positions' }).first();
  await expect.poll(() => positions.getByRole('row').count(), { timeout: 20_000 }).toBe(3);

  // The page goes on to the next market by itself, with the result of this one.
  await page.locator('.last-result .outcome').waitFor();
  const claim = page.getByRole('button', { name: /^Claim / }).first();
  await claim.click();
  await expect.poll(() => claim.count()).toBe(0);

  const { entries } = (await api.read('/leaderboard?metric=volume')).json;
  expect(entries.map(({ username }: { username: string }) => username)).toEqual(['ada']);
  for (const [address, heading] of [
    ['leaderboard', 'Leaderboard'],
    ['past', 'Past markets'],
    [`user/${entries[0].userId}`, 'ada'],
    ['account', 'ada'],
    ['status', 'Status'],
    ['account/trades', 'ada'],
    ['account/statement', 'ada'],
    ['account/vault', 'ada'],
    ['account/points', 'ada'],
    ['account/referral', 'ada'],
    ['account/security', 'ada'],
  ] as const) {
    await visitor.view(address);
    await page.getByRole('heading', { level: 1, name: heading }).waitFor();
    await expect.poll(() => page.getByText('Loading', { exact: true }).count()).toBe(0);
    await visitor.isAccessible(address);
  }
  await visitor.close();
});

test('the balance on the page is that of the API at the same sequence', async () => {
  const visitor = await Visitor.open(browser, api.url);
  const { page } = visitor;
  await visitor.register('joan');
  await earlyInMarket(page);
  await page.getByLabel('One click: send without asking again').check();
  await amount(page).fill('15');
  await page.getByRole('button', { name: 'Buy UP' }).click();
  await sequenceOf(page).waitFor();
  await visitor.view('account');
  const figure = (name: string) => page.locator(`[data-figure=${name}]`).textContent();
  await expect.poll(() => figure('total')).not.toBe('\u2013');
  const token = await visitor.token();
  const { json: session } = await api.get('/auth/session', token);
  await eventually(async () => {
    const { json } = await api.get(`/users/${session.userId}/balance`, token);
    const shown = await figure('total');
    return shown === `$${json.total.toLocaleString('en', { maximumFractionDigits: 6 })}`;
  });
  await visitor.close();
});
