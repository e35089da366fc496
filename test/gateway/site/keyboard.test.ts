/** A visit without a pointer: every step is a key. */
import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { openSite, page, server, visitor } from './browser.js';

openSite();
beforeAll(async () => {
  const maker = await server.register('maker');
  const body = { outcome: 'DOWN', shares: 500, price: 0.45, timeInForce: 'GTC' };
  await server.buy(maker, body);
});

/** Presses Tab until the button has the focus, as a person looking for it does. */
async function tabTo(page: Page, name: RegExp): Promise<void> {
  const focused = page.locator(':focus');
  for (let tabs = 0; tabs < 80; tabs++) {
    await page.keyboard.press('Tab');
    if ((await focused.count()) === 0) continue;
    const label = (await focused.getAttribute('aria-label')) ?? (await focused.textContent());
    const text = label || (await focused.getAttribute('id'));
    if (name.test(text ?? '')) return;
  }
  throw new Error(`no stop in the tab order is called ${name}`);
}

test('register, look at the keys, buy, place and cancel an order, sell, by keys alone', async () => {
  const { keyboard } = page;
  await page.locator('.book .offer:enabled').waitFor();
  await tabTo(page, /^Sign up$/);
  await keyboard.press('Enter');
  await page.getByLabel('Username').waitFor();
  await tabTo(page, /^username$/);
  await keyboard.type('ada');
  await keyboard.press('Tab');
  await keyboard.type('correct horse battery');
  await keyboard.press('Enter');
  await page.getByRole('button', { name: 'Sign out' }).waitFor();

  await keyboard.press('?');
  await page.getByRole('heading', { name: 'Shortcuts' }).waitFor();
  await visitor.isAccessible('the list of keys');
  // The focus is back as soon as the list is gone, so that text typed immediately is not lost.
  await page.evaluate(`{
    const watcher = new MutationObserver(() => {
      if (document.querySelector('dialog') !== null) return;
      document.body.dataset.focused = document.activeElement.id || 'nothing';
      watcher.disconnect();
    });
    watcher.observe(document.body, { childList: true, subtree: true });
  }`);
  await keyboard.press('Escape');
  await page.locator('body[data-focused]').waitFor();
  expect(await page.locator('body').getAttribute('data-focused')).toBe('content');

  // A purchase of UP, sent and confirmed. A new user's guide ends with the first trade.
  const guide = page.getByRole('region', { name: 'Your first trade' });
  await guide.getByText('step 1 of 3').waitFor();
  await keyboard.press('u');
  await guide.getByText('The fee comes on top: $0.05 on $10.00.').waitFor();
  await keyboard.type('11');
  await guide.getByText('You pay at most 57¢ a share').waitFor();
  await keyboard.press('Enter');
  await page.getByRole('button', { name: 'Confirm: $11.06 for 20 UP' }).waitFor();
  await keyboard.press('Enter');
  await page.getByText(/Bought 20 UP/).waitFor();
  await expect.poll(() => guide.count()).toBe(0);
  // Text typed for the next order replaces the amount.
  await keyboard.press('Escape');
  await keyboard.press('u');
  await keyboard.type('7');
  expect(await page.locator('#size').inputValue()).toBe('7');

  // Enter copies an offer from the book, and the price moves by ticks.
  await keyboard.press('Escape');
  await tabTo(page, /^offer at 55¢/);
  await keyboard.press('Enter');
  await keyboard.press('l');
  await expect.poll(() => page.locator('#price:focus').count()).toBe(1);
  await keyboard.press('ArrowDown');
  await keyboard.press('Shift+ArrowDown');
  expect(await page.locator('#price').inputValue()).toBe('53.9');
  await keyboard.press('Enter');
  await page.getByRole('button', { name: /^Confirm/ }).waitFor();
  await keyboard.press('Enter');
  await page.getByText('Open order: buy UP').waitFor();
  // The focus stays near the button that its action removes.
  await keyboard.press('Escape');
  await tabTo(page, /^Cancel: buy UP/);
  await keyboard.press('Enter');
  await page.getByText('No open orders.').waitFor();
  expect(await page.locator(':focus h2').textContent()).toBe('Open orders');

  // There is no buyer, so a sale of all shares rests at its price.
  await keyboard.press('s');
  await keyboard.press('l');
  await expect.poll(() => page.locator('#price:focus').count()).toBe(1);
  await keyboard.press('Control+a');
  await keyboard.type('70');
  await keyboard.press('Escape');
  await keyboard.press('a');
  await keyboard.press('Control+a');
  await keyboard.type('20');
  await keyboard.press('Enter');
  await page.getByRole('button', { name: /^Confirm/ }).waitFor();
  await keyboard.press('Enter');
  await page.getByText('Open order: sell UP').waitFor();

  // To another view and back.
  await keyboard.press('Escape');
  await keyboard.press('k');
  await page.getByRole('heading', { level: 1, name: 'Leaderboard' }).waitFor();
  await keyboard.press('g');
  await page.getByRole('heading', { level: 1, name: /^Will BTC be at or above/ }).waitFor();
});
