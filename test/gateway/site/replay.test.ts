/** A finished market's page, and a receipt's proof, in a real browser. */
import { expect, test } from 'vitest';
import { MARKET, WINDOW_MS, WINDOW_START_MS } from '../../support/server.js';
import { openSite, page, server, visitor } from './browser.js';

openSite({ startingBalanceMicros: 1_000_000_000 });
const BUY = `/markets/15m/${MARKET}/buy`;

test("a receipt shows the hash of the journal's batch that holds it", async () => {
  const maker = await server.register('maker');
  const order = { outcome: 'DOWN', shares: 100, price: 0.4, timeInForce: 'GTC' };
  expect((await server.api.post(BUY, order, maker.token)).status).toBe(200);
  await visitor.register('ada');
  await page.locator('.book .offer:enabled').waitFor();
  await page.getByLabel('Skip confirmation').check();
  await page.locator('#size').fill('12');
  await page.getByRole('button', { name: 'Buy UP' }).click();
  const shown = await page.locator('.receipt [data-sequence]').textContent();
  await page.getByRole('button', { name: 'Verify' }).click();
  const hash = page.locator('[data-hash]');
  await hash.waitFor();
  const sequence = shown!.replaceAll(',', '');
  const { json } = await server.api.read(`/digest?sequence=${sequence}`);
  expect(await hash.textContent()).toBe(json.batch.hash);
  await visitor.isAccessible('a receipt with its proof');
});

test('the averages agree, and the replay shows the book at every moment', async () => {
  for (let n = 1; server.clock.nowMs() < WINDOW_START_MS + WINDOW_MS + 2_000; n++)
    await server.passTime(server.clock.nowMs() + 7_301, 100_000 + (n % 13) / 7);
  await server.advance();
  await server.api.read(`/markets/${MARKET}`);
  await visitor.view(`market/${MARKET}`);
  const averages = page.locator('[data-average]');
  await expect.poll(() => averages.count()).toBe(2);
  for (const text of await averages.allTextContents()) expect(text).toContain('They agree.');
  await visitor.isAccessible('a finished market');

  await page.getByRole('button', { name: 'Replay this market' }).click();
  const slider = page.getByRole('slider');
  await slider.waitFor();
  // The replay starts by itself, from the beginning.
  await page.getByRole('button', { name: 'Pause' }).click();
  expect(Number(await slider.inputValue())).toBeLessThan(
    Number(await slider.getAttribute('max')) / 2,
  );
  await slider.fill('1');
  const last = page.getByRole('region', { name: 'Last trades' });
  await page.getByText('No trades yet.').waitFor();
  await page.getByRole('button', { name: '120×' }).click();
  await page.getByRole('button', { name: 'Play' }).click();
  await last.getByText('20').first().waitFor();
  await page.getByRole('button', { name: 'Play' }).waitFor();
  expect(await slider.inputValue()).toBe(await slider.getAttribute('max'));
  await visitor.isAccessible('the replay');
  const { json } = await server.api.read(`/markets/15m/${MARKET}/events?limit=200`);
  const rested = json.events.findIndex(({ type }: { type: string }) => type === 'book') + 1;
  await slider.fill(`${rested}`);
  const offers = page.getByRole('region', { name: 'Offers of UP' }).getByRole('row');
  await expect.poll(() => offers.allTextContents()).toEqual(['PriceShares', '60¢100']);
  await page.getByText('No trades yet.').waitFor();
  const at = await page.locator('[data-moment-sequence]').textContent();
  expect(at).toBe(`${json.events[rested - 1].sequence}`);
  // The left arrow key selects the previous event.
  await slider.press('ArrowLeft');
  await page
    .getByText(`event ${rested - 1} of`)
    .first()
    .waitFor();
});
