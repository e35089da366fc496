/**
 * A person's whole visit in a real browser, on the built program at 40 times the speed: from the
 * first look to the statement, without errors in the console or from axe.
 */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DAY_FILE } from '../../data/day-file.js';
import { eventually } from '../../support/eventually.js';
import { Exchanges } from '../../support/programs.js';
import type { ApiClient } from '../../support/server.js';
import { launchBrowser } from '../../support/site/browser.js';
import { Visitor } from './browser.js';

/** A market lasts 22.5 s. */
const NEXT_MARKET_MS = 90_000;
/** After this time, a receipt will no longer arrive. */
const RECEIPT_MS = 5_000;

const exchanges = new Exchanges({
  // The file begins at midnight, so that all results on the page are from the same day.
  PRICE_FEED: `file:${DAY_FILE}`,
  ASSETS: 'BTC',
  FEED_SPEED: '40',
  HOUSE: 'on',
  LOG_LEVEL: 'warn',
});
let browser: Browser;
let api: ApiClient;
beforeAll(async () => {
  browser = await launchBrowser();
  api = await exchanges.listening(exchanges.spawn());
});
afterAll(async () => {
  await browser?.close();
  await exchanges.end();
});

/** Minutes left of the shown market; NaN before it has started. */
async function minutesLeft(page: Page): Promise<number> {
  if ((await page.getByText(/^(Starts|Next market) in$/).count()) > 0) return Number.NaN;
  const text = (await page.locator('.figure-value').first().textContent()) ?? '';
  return Number(text.split(':')[0]);
}

/** Leaves time for some clicks, even on a busy machine: twelve minutes are 18 seconds. */
async function earlyInMarket(page: Page): Promise<void> {
  const early = () => minutesLeft(page);
  await expect.poll(early, { timeout: NEXT_MARKET_MS }).toBeGreaterThanOrEqual(12);
}

const amount = (page: Page) => page.getByLabel(/^Amount \(before fee\)$|^Shares$/).first();
const sequenceOf = (page: Page) => page.locator('.receipt .confirmed');

/**
 * Buys as the ticket says. At 40 times the speed an offer may be gone when the order arrives. Then
 * the ticket says so, and nothing is bought.
 */
async function buy(page: Page, outcome: 'UP' | 'DOWN'): Promise<void> {
  // The amount is cleared when a market ends.
  await amount(page).fill('25');
  await page.locator(`#ticket .outcome-button.${outcome.toLowerCase()}`).click();
  await page.getByRole('button', { name: `Buy ${outcome}, BTC` }).click();
  await sequenceOf(page).waitFor({ timeout: RECEIPT_MS });
}

/** Waits for the market's quarter hour among the day's results. */
const resultOf = (page: Page, window: string) =>
  page.getByRole('link', { name: new RegExp(`^${window}: (UP|DOWN) won$`) });

test('register, look, buy, amend, sell, wait for the end, claim, and look around', {
  timeout: 240_000,
}, async () => {
  const visitor = await Visitor.open(browser, api.url);
  const { page } = visitor;
  const button = (name: string) => page.getByRole('button', { name, exact: true });
  await page.locator('.chart canvas').waitFor();
  await visitor.isAccessible('the market, signed out');

  await visitor.register('ada');
  await page.getByLabel('Skip confirmation').check();
  // At 40 times the speed, a price moves more than usual before an order arrives.
  await page.getByLabel('If the price rises, pay up to').selectOption('100');

  // Buys both outcomes, so that one of them is claimed. Failed purchases are tried again.
  await amount(page).fill('25');
  await page.getByText(/^Payout if UP wins$/).waitFor();
  const positions = page.getByRole('region', { name: 'Positions' }).last();
  let window = '';
  await eventually(async () => {
    await earlyInMarket(page);
    window = (await page.locator('[data-window]').textContent())!;
    await buy(page, 'UP');
    await buy(page, 'DOWN');
    await expect
      .poll(() => positions.getByRole('row').count(), { timeout: RECEIPT_MS })
      .toBeGreaterThan(2);
  }, NEXT_MARKET_MS);

  // An order below the book rests, and is amended.
  await button('Limit').click();
  await page.locator('#price').fill('2');
  await amount(page).fill('2');
  await page.getByRole('button', { name: 'Buy DOWN, BTC' }).click();
  await page.getByText('Open order: buy DOWN').waitFor();
  await button('Amend: buy DOWN at 2¢').click();
  await expect.poll(() => page.locator('#amend-size').inputValue()).toBe('100');
  await page.locator('#amend-size').fill('60');
  await button('Amend').click();
  await page.getByText('Amended: 60 open at 2¢, it kept its place in the queue.').waitFor();

  // A part is sold, at the best prices. A sale that finds no bid is tried again.
  await button('Sell').click();
  await button('Market').click();
  await eventually(async () => {
    await button('50%').click();
    await page.getByRole('button', { name: 'Sell DOWN, BTC' }).click();
    await page.getByText(/^Sold [\d.,]+ DOWN$/).waitFor({ timeout: RECEIPT_MS });
  }, NEXT_MARKET_MS);

  // The price moves, and with it the value of the shares.
  const price = page.locator('.figure', { hasText: 'BTC now' }).locator('.figure-value');
  const worth = positions.getByRole('cell').nth(3);
  for (const watched of [price, worth]) {
    const before = await watched.textContent();
    await expect.poll(() => watched.textContent()).not.toBe(before);
  }

  // The page continues with the next market by itself, and shows this one's result.
  await resultOf(page, window).waitFor();
  await expect.poll(() => page.locator('[data-window]').textContent()).not.toBe(window);
  const target = page.locator('.figure', { hasText: 'Price to beat' });
  await expect.poll(() => target.textContent()).not.toContain('being fixed');
  const claim = page.getByRole('button', { name: /^Claim / }).first();
  await claim.click();
  await page.getByText(/\$[\d.]+ claimed from BTC /).waitFor();
  await expect.poll(() => claim.count()).toBe(0);

  const { entries } = (await api.read('/leaderboard?metric=volume')).json;
  expect(entries.map(({ username }: { username: string }) => username)).toEqual(['ada']);
  const { markets } = (await api.read('/markets?asset=BTC&status=resolved')).json;
  for (const [address, heading] of [
    ['leaderboard', 'Leaderboard'],
    ['past', 'Past markets'],
    [`market/${markets[0].id}`, /^BTC, /],
    [`user/${entries[0].userId}`, 'ada'],
    ['account', 'ada'],
    ['status', 'Status'],
    ['rules', 'Rules'],
    ['account/orders', 'ada'],
    ['account/trades', 'ada'],
    ['account/statement', 'ada'],
    ['account/vault', 'ada'],
    ['account/points', 'ada'],
    ['account/referral', 'ada'],
    ['account/settings', 'ada'],
  ] as const) {
    await visitor.view(address);
    await page.getByRole('heading', { level: 1, name: heading }).waitFor();
    await expect.poll(() => page.getByText('Loading', { exact: true }).count()).toBe(0);
    await visitor.isAccessible(address);
    await visitor.fitsPhone(address);
  }

  // The statement contains everything, and the closed orders show how each ended.
  await visitor.view('account/statement');
  const statement = page.getByRole('region', { name: 'Statement' }).last();
  for (const cause of ['Play money', 'Market decided'])
    await statement
      .getByRole('row', { name: new RegExp(`^${cause}`) })
      .first()
      .waitFor();
  await statement
    .getByText(/^Bought, /)
    .first()
    .click();
  for (const cause of ['Trade: ', 'Trading fee: ', 'Held for an open order: '])
    expect(await statement.textContent()).toContain(cause);
  await visitor.view('account/orders');
  const closed = page.getByRole('region', { name: 'Closed orders' }).last();
  await closed.getByRole('row', { name: /^Buy .*DOWN .* Market ended$/ }).waitFor();
  await closed.getByRole('row', { name: /^Sell .*DOWN .* Filled$/ }).waitFor();

  // After the next market, the results of both are shown.
  await visitor.view('');
  const results = page.getByRole('link', { name: / won$/ });
  await expect.poll(() => results.count(), { timeout: NEXT_MARKET_MS }).toBeGreaterThan(1);
  await resultOf(page, window).waitFor();
  // Its window and the next four can be chosen, beside the last results.
  expect(await page.getByRole('group', { name: 'Window' }).getByRole('button').count()).toBe(5);
  const last = page.getByRole('list', { name: 'Last results, the newest first' });
  expect(await last.getByRole('link', { name: /: (UP|DOWN)$/ }).count()).toBeGreaterThan(1);
  await visitor.close();
});
