/**
 * Pages with little to show: without a market, without an order, without prices, and for users who
 * have forgotten their password.
 */
import { rm } from 'node:fs/promises';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CODE_LASTS_MS, credentialOf } from '../../../gateway/access/sign-in-codes.js';
import { listSegments } from '../../../persistence/journal/segments.js';
import { listSnapshots } from '../../../persistence/recovery/snapshot/folder.js';
import { eventually } from '../../support/eventually.js';
import { TestServer } from '../../support/server.js';
import { launchBrowser } from '../../support/site/browser.js';
import { Visitor } from './browser.js';

let browser: Browser;
let server: TestServer;
beforeAll(async () => {
  browser = await launchBrowser();
  server = await TestServer.withMarket();
});
afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

test('no market has opened yet, and the next one takes orders', async () => {
  const server = await TestServer.start();
  const visitor = await Visitor.open(browser, server.exchange.address);
  const { page } = visitor;
  await page
    .getByRole('heading', { level: 1, name: /^Will BTC at .* be at or above its price at/ })
    .waitFor();
  await page.getByRole('link', { name: 'BTC', exact: true }).waitFor();
  await page.getByText('Next market in', { exact: true }).waitFor();
  expect(await page.locator('.figure').allTextContents()).not.toContain('\u2013');
  await visitor.isAccessibleInEveryForm('without a market');
  // A dialog focuses its first field, and returns the focus when closed.
  const signUp = page.getByRole('button', { name: 'Sign up', exact: true });
  await signUp.click();
  await page.locator('#username:focus').waitFor();
  await page.keyboard.press('Escape');
  await expect.poll(() => signUp.evaluate((it) => it.matches(':focus'))).toBe(true);
  for (const [address, title] of [
    ['past', 'Past markets'],
    ['nowhere', 'Page not found'],
    ['market/x/y', 'Page not found'],
  ] as const) {
    await visitor.view(address);
    await page.getByRole('heading', { level: 1, name: title }).waitFor();
    expect(await page.title()).toBe(`${title} · Quarter-Hour Exchange`);
  }
  await visitor.view('');
  await visitor.register('ada');
  const buy = page.getByRole('button', { name: /^Buy UP, BTC/ });
  await expect.poll(() => buy.isEnabled()).toBe(true);
  await visitor.view('past');
  await page.getByText('No BTC market has been decided yet.').waitFor();
  await visitor.view('leaderboard');
  await page.getByText('There are no ranks for this period yet.').waitFor();
  await visitor.close();
  await server.stop();
});

test('nobody has ordered in the market', async () => {
  const visitor = await Visitor.open(browser, server.exchange.address);
  const { page } = visitor;
  await page.getByText('The book is empty').waitFor();
  await page.getByText('No trades in this market yet.').waitFor();
  await page.locator('#size').fill('10');
  await page.getByText('no order on the other side').waitFor();
  await visitor.isAccessibleInEveryForm('an empty book');
  // On a phone, an answer opens the ticket over the page.
  await page.setViewportSize({ width: 390, height: 844 });
  await page.getByRole('button', { name: 'Menu' }).click();
  await page.getByRole('link', { name: 'Leaderboard' }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('link', { name: 'Leaderboard' }).waitFor({ state: 'hidden' });
  await page.getByRole('button', { name: 'Menu' }).click();
  await page.getByRole('button', { name: 'Sign in' }).last().click();
  await page.locator('#username:focus').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('link', { name: 'Leaderboard' }).waitFor({ state: 'hidden' });
  const answer = page.locator('.answers button').last();
  expect((await answer.boundingBox())!.y).toBeLessThan(844);
  await answer.click();
  await page.locator('#size:focus').waitFor();
  expect(await page.getByRole('button', { name: 'Create an account to trade' }).isVisible()).toBe(
    true,
  );
  await page.getByRole('button', { name: 'Close', exact: true }).click();
  await expect.poll(() => answer.evaluate((it) => it.matches(':focus'))).toBe(true);
  await visitor.close();
});

test('the chart is there for a browser whose language Intl refuses', async () => {
  const visitor = await Visitor.open(browser, server.exchange.address);
  const { page } = visitor;
  await page.addInitScript(() => {
    const value = 'en-US@posix';
    Object.defineProperty(Navigator.prototype, 'language', { get: () => value });
  });
  await page.reload();
  await page.locator('.chart canvas').waitFor();
  await visitor.close();
});

test('the status names what is paused and which prices are missing', async () => {
  const server = await TestServer.start();
  const visitor = await Visitor.open(browser, server.exchange.address);
  await visitor.view('status');
  await visitor.page.getByText('Durable up to').waitFor();
  await visitor.page.getByText('No fresh price: BTC and ETH.').waitFor();
  const pause = { kind: 'setPaused', marketId: 0, asset: -1, paused: true } as const;
  server.submit({ ...pause, operator: 'olga', reason: 'the feed is wrong' });
  await visitor.page.getByText('paused: everything. No fresh price: BTC and ETH.').waitFor();
  await visitor.isAccessibleInEveryForm('the status');
  await visitor.close();
  await server.stop();
});

test('a part of the journal from before the newest snapshot is missing', async () => {
  const kept = { segmentBytes: 12_000, snapshotEveryCommands: 20 };
  const before = await TestServer.withMarket(kept);
  const trader = await before.register('ada');
  const order = { outcome: 'UP', shares: 1, price: 0.25, timeInForce: 'GTC' };
  const segments = () => listSegments(before.folder).map(({ path }) => path);
  await eventually(async () => {
    for (let count = 0; count < 50; count++) await before.buy(trader, order);
    await before.followed();
    return segments().length > 2 && listSnapshots(before.folder).length > 0;
  });
  const atMs = before.clock.nowMs();
  await before.close();
  const [oldest] = segments();
  await rm(oldest!);

  const server = await TestServer.start(kept, before.folder, atMs);
  const { api } = server;
  expect((await api.get('/status')).json.journalDamaged).toBe(true);
  expect((await api.get('/ready')).json.warning).toContain('is damaged or missing');
  expect(await api.metric('exchange_journal_damaged')).toBe(1);
  const visitor = await Visitor.open(browser, server.exchange.address);
  await visitor.view('status');
  await visitor.page
    .getByText("an old part of the exchange's records is damaged or missing")
    .waitFor();
  await visitor.close();
  await server.stop();
});

test('who has forgotten the password sets a new one with a code of the operator', async () => {
  const { userId, username } = await server.register('forgetful');
  const code = '7K2MD-0Q9XA-3VT8H-JW5RC';
  const credential = credentialOf(code, server.clock.nowMs() + CODE_LASTS_MS);
  const action = { operator: 'olga', reason: 'a forgotten password' };
  server.submit({
    kind: 'resetCredential',
    userId: Number(userId.slice(1)),
    credential,
    ...action,
  });
  const visitor = await Visitor.open(browser, server.exchange.address);
  const { page } = visitor;
  await page.getByRole('button', { name: 'Sign in', exact: true }).first().click();
  await page.getByRole('button', { name: 'Forgot your password?' }).click();
  await page.getByText('Ask the operator of the exchange for a code.').waitFor();
  await visitor.isAccessibleInEveryForm('the dialog of a forgotten password');
  const send = async (typed: string, password: string) => {
    await page.getByLabel('Username').fill(username);
    await page.getByLabel('Code', { exact: true }).fill(typed);
    await page.getByLabel('New password', { exact: true }).fill(password);
    await page.getByRole('button', { name: 'Set password' }).click();
  };
  await send('7K2MD-0Q9XA-3VT8H-JW5RD', 'a new and good one');
  await page.getByText('The username or the code is wrong, or the code was used').waitFor();
  await send(code, 'short');
  await page.getByText('The password must have at least 8 characters.').waitFor();
  // Lower case and spaces are accepted.
  await send(code.toLowerCase().replaceAll('-', ' '), 'a new and good one');
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
  const login = { username, password: 'a new and good one' };
  expect((await server.api.post('/auth/login', login)).status).toBe(200);
  await visitor.close();
});
