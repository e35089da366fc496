/**
 * What axe finds in every state of the site: each view, each dialog, refusals and receipts, in
 * dark, in light and at a phone's width.
 */
import { AxeBuilder } from '@axe-core/playwright';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { Api, markets } from '../../../gateway/client/index.js';

const WCAG = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];
const FORMS: Record<string, BrowserContextOptions> = {
  dark: { colorScheme: 'dark', viewport: { width: 1280, height: 800 } },
  light: { colorScheme: 'light', viewport: { width: 1280, height: 800 } },
  phone: { colorScheme: 'light', viewport: { width: 320, height: 700 } },
};
const ACCOUNT = ['orders', 'trades', 'statement', 'vault', 'points', 'referral', 'settings'];
const VIEWS = [
  'past',
  'leaderboard',
  'status',
  'rules',
  'account',
  ...ACCOUNT.map((of) => `account/${of}`),
];

export interface Findings {
  states: number;
  /** The number of violations, which are also printed on standard error. */
  violations: number;
}

/** Needs an exchange with a house, preferably faster than real time. */
export async function findViolations(browser: Browser, url: string): Promise<Findings> {
  const findings = { states: 0, violations: 0 };
  for (const [form, options] of Object.entries(FORMS)) {
    const context = await browser.newContext({ reducedMotion: 'reduce', ...options });
    const page = await context.newPage();
    await page.goto(url);
    await walk(page, url, form, async (state) => {
      const { violations } = await new AxeBuilder({ page }).withTags(WCAG).analyze();
      findings.states++;
      findings.violations += violations.length;
      for (const { id, nodes } of violations)
        console.error(`${form}, ${state}, ${id}: ${nodes.map(({ html }) => html).join(' | ')}`);
    });
    await context.close();
  }
  return findings;
}

type Check = (state: string) => Promise<void>;

async function walk(page: Page, url: string, form: string, check: Check): Promise<void> {
  const button = (name: string) => page.getByRole('button', { name, exact: true }).first();
  await page.locator('.book .offer:enabled').first().waitFor();
  await check('the market, signed out');
  if (form === 'phone') {
    await button('Menu').click();
    await check('the menu');
  }
  await button('Sign in').click();
  await check('signing in');
  await page.keyboard.press('Escape');
  await button('Sign up').click();
  await button('Create account').click();
  await check('registration, refused');
  await page.getByLabel('Username').fill(`ada-${form}`);
  await page.getByLabel('Password', { exact: true }).fill('correct horse battery');
  await button('Create account').click();
  await page.locator('.money').waitFor();
  if (form === 'phone') await page.locator('.answers button').first().click();
  await trade(page, check);
  await page.locator('h1').click();
  await page.keyboard.press('?');
  await page.getByRole('heading', { name: 'Shortcuts' }).waitFor();
  await check('the list of keys');
  await page.keyboard.press('Escape');
  for (const view of VIEWS) {
    await show(page, `${url}/#/${view}`);
    await check(view);
  }
  await show(page, `${url}/#/market/${await finishedMarket(url)}`);
  await check('a finished market');
  await button('Replay this market').click();
  await page.getByRole('slider').waitFor();
  await check('a replay');
  await show(page, `${url}/#/leaderboard`);
  await page.locator('main .facts a').first().click();
  await page.getByRole('heading', { name: 'Trading record' }).waitFor();
  await check('a profile');
}

/** Makes a purchase, rests an order and opens it for amendment, and has one refused. */
async function trade(page: Page, check: Check): Promise<void> {
  const send = page.locator('#ticket .send');
  const size = page.locator('#size');
  await page.getByLabel('Skip confirmation').check();
  // Faster than real time, a price moves more than usual before an order arrives.
  await page.getByLabel('If the price rises, pay up to').selectOption('100');
  await size.fill('25');
  await check('a ticket that is written');
  await send.click();
  await page.locator('.receipt .confirmed').waitFor();
  await check('a receipt');
  await page.getByRole('button', { name: 'Limit', exact: true }).click();
  await page.locator('#price').fill('0.2');
  await size.fill('1');
  await send.click();
  await page.getByText(/^Open order: /).waitFor();
  await page
    .getByRole('button', { name: /^Amend: / })
    .first()
    .click();
  await page.locator('#amend-size').waitFor();
  await check('an amendment');
  await page.keyboard.press('Escape');
  await size.fill('1000000');
  await send.click();
  await page.locator('.problem:not(:empty)').first().waitFor();
  await check('an order that is refused');
}

async function show(page: Page, address: string): Promise<void> {
  await page.goto(address);
  await page.locator('h1').waitFor();
  while ((await page.getByText('Loading', { exact: true }).count()) > 0)
    await page.waitForTimeout(50);
}

async function finishedMarket(url: string): Promise<string> {
  const api = new Api({ url: `${url}/api` });
  for (;;) {
    const { markets: found } = await markets(api, { status: 'resolved', limit: 1 });
    if (found[0] !== undefined) return found[0].id;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
