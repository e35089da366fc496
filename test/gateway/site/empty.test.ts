/** An exchange without a market, and a market without an order: the page says so, in every form. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { launchBrowser } from '../../../bench/site/browser.js';
import { TestServer } from '../../support/server.js';
import { Visitor } from './browser.js';

let browser: Browser;
beforeAll(async () => {
  browser = await launchBrowser();
});
afterAll(() => browser.close());

test('no market is open, and none has been', async () => {
  const server = await TestServer.start();
  const visitor = await Visitor.open(browser, server.exchange.address);
  const { page } = visitor;
  await page.getByRole('heading', { level: 1, name: 'BTC is between two markets' }).waitFor();
  await page.getByRole('link', { name: 'BTC', exact: true }).waitFor();
  await page.getByText('The book is not known yet').waitFor();
  await visitor.isAccessibleInEveryForm('without a market');
  await visitor.register('ada');
  expect(await page.getByRole('button', { name: 'Buy UP' }).isDisabled()).toBe(true);
  await visitor.view('past');
  await page.getByText('No market of this asset has been decided yet.').waitFor();
  await visitor.view('leaderboard');
  await page.getByText('Nobody has traded in this time.').waitFor();
  await visitor.close();
  await server.stop();
});

test('nobody has ordered in the market', async () => {
  const server = await TestServer.withMarket();
  const visitor = await Visitor.open(browser, server.exchange.address);
  const { page } = visitor;
  await page.getByText('The book is empty').waitFor();
  await page.getByText('No trade in this market yet.').waitFor();
  await page.locator('#size').fill('10');
  await page.getByText('Nobody is on the other side').waitFor();
  await visitor.isAccessibleInEveryForm('an empty book');
  await visitor.close();
  await server.stop();
});

test('the chart is there for a browser whose language Intl refuses', async () => {
  const server = await TestServer.withMarket();
  const visitor = await Visitor.open(browser, server.exchange.address);
  const { page } = visitor;
  await page.addInitScript(() => {
    const value = 'en-US@posix';
    Object.defineProperty(Navigator.prototype, 'language', { get: () => value });
  });
  await page.reload();
  await page.locator('.uplot canvas').waitFor();
  await visitor.close();
  await server.stop();
});
