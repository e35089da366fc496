/**
 * Takes the README's screenshots of the built exchange, and writes them to
 * gateway/site/screenshots.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Browser, BrowserContextOptions } from 'playwright-core';
import { withBrowser } from '../../support/site/browser.js';
import { withExchange } from './exchange.js';

const FOLDER = fileURLToPath(new URL('../../../../gateway/site/screenshots/', import.meta.url));
const SHOTS: readonly { name: string; options: BrowserContextOptions }[] = [
  { name: 'dark', options: { colorScheme: 'dark', viewport: { width: 1360, height: 860 } } },
  { name: 'light', options: { colorScheme: 'light', viewport: { width: 1360, height: 860 } } },
  {
    name: 'phone',
    options: { colorScheme: 'dark', viewport: { width: 375, height: 812 }, isMobile: true },
  },
];
/** At this speed the chart soon shows some minutes of the window. */
const SPEED = 12;
const WATCH_MS = 20_000;

async function shoot(browser: Browser, url: string): Promise<void> {
  const pages = await Promise.all(
    SHOTS.map(async ({ name, options }) => {
      const context = await browser.newContext({ ...options, timezoneId: 'UTC' });
      const page = await context.newPage();
      await page.goto(url);
      await page.getByRole('button', { name: 'Sign up', exact: true }).click();
      await page.getByLabel('Username').fill(`ada-${name}`);
      await page.getByLabel('Password', { exact: true }).fill('correct horse battery');
      await page.getByRole('button', { name: 'Create account' }).click();
      await page.locator('.money').waitFor();
      return { name, page };
    }),
  );
  await sleep(WATCH_MS);
  for (const { name, page } of pages) {
    if (name === 'phone') await page.locator('.answers button').first().click();
    await page.locator('#size').fill('120');
    await page.getByRole('button', { name: 'Buy UP' }).click();
    await page.getByRole('button', { name: /^Confirm/ }).press('Enter');
    await page.locator('.receipt .confirmed').waitFor();
    await page.locator('#size').fill('250');
    await page.locator('.levels').waitFor();
    if (name === 'phone') await page.getByRole('button', { name: 'Close', exact: true }).click();
    else await page.locator('h1').click();
    await page.evaluate('scrollTo(0, 0)');
    await page.screenshot({ path: `${FOLDER}${name}.png` });
  }
}

export async function takeScreenshots(): Promise<void> {
  await withBrowser((browser) =>
    withExchange({ feed: 'file', speed: SPEED }, (url) => shoot(browser, url)),
  );
}
