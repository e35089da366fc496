/** A market's result is shown when it is decided, with the same sum on every page. */
import { expect, test } from 'vitest';
import { marketNumber } from '../../../gateway/resources/last-market.js';
import { WINDOW_MS, WINDOW_START_MS } from '../../support/server.js';
import { openSite, page, server, visitor } from './browser.js';

openSite({ startingBalanceMicros: 1_000_000_000 });

test('a position that lost is told on every page until it is read, with the same loss', async () => {
  const button = (name: string) => page.getByRole('button', { name, exact: true });
  const maker = await server.register('maker');
  const order = { outcome: 'UP', shares: 20, price: 0.5, timeInForce: 'GTC' };
  await server.buy(maker, order);
  await visitor.register('ada');
  await page.getByLabel('Skip confirmation').check();
  await page.locator('.book .bid:enabled').first().waitFor();
  // On a phone, where the receipt is below the button, the page scrolls to it.
  const usual = page.viewportSize()!;
  await page.setViewportSize({ width: 390, height: 700 });
  await page.locator('.answers button').last().click();
  await button('+$10').click();
  await page.getByRole('button', { name: 'Buy DOWN, BTC' }).click();
  const bought = page.getByText('Bought 20 DOWN');
  await bought.waitFor();
  expect(await page.locator('#size').inputValue()).toBe('');
  await expect.poll(async () => (await bought.boundingBox())?.y ?? 700).toBeLessThan(650);
  await page.setViewportSize(usual);
  await button('Limit').click();
  await page.locator('#price').fill('2');
  await page.locator('#size').fill('2');
  await page.getByRole('button', { name: 'Buy DOWN, BTC' }).click();
  await page.getByText('Open order: buy DOWN').waitFor();
  const send = page.getByRole('button', { name: /^Buy DOWN, BTC/ });
  const named = await send.textContent();

  const past = await visitor.newTab();
  // A page in the background notifies, even if nobody has opened the settings there.
  await past.addInitScript(`{
    localStorage.setItem('notify', 'on');
    Object.defineProperty(document, 'hidden', { get: () => true });
    Notification = class { constructor(text) { document.body.dataset.told = text; } };
  }`);
  await past.reload();
  await past.evaluate("location.hash = '#/past'");
  await past.getByText('No BTC market has been decided yet.').waitFor();
  for (let n = 1; server.clock.nowMs() < WINDOW_START_MS + WINDOW_MS + 2_000; n++)
    await server.passTime(server.clock.nowMs() + 7_301, 100_000 + n);
  await server.advance();
  await page.getByText('Ended with the market: buy DOWN').waitFor();
  // Neither the amount nor the price is meant for the next market, which the button names.
  await expect.poll(() => page.locator('#size').inputValue()).toBe('');
  expect(await page.locator('#price').inputValue()).toBe('');
  expect(await send.textContent()).not.toBe(named);
  const result = page.locator('.result');
  await expect
    .poll(() => result.textContent())
    .toMatch(/: *UP won.*You had20 DOWNYou get\$0.00Profit, fees included−\$10.05/);
  const told = () => past.locator('body').getAttribute('data-told');
  await expect.poll(told).toMatch(/: UP won. You had: 20 DOWN. You get \$0.00. Profit: −\$10.05./);
  // Its list of past markets was open, and shows the result.
  await past.getByRole('cell', { name: '−$10.05' }).waitFor();
  await past.close();

  await visitor.view('account');
  const figure = (name: string) => page.locator(`[data-figure=${name}]`);
  await expect.poll(() => figure('profit').textContent()).toBe('−$10.05');
  expect(await figure('total').textContent()).toBe('$989.95');
  expect(await figure('win-rate').textContent()).toBe('0.0%');
  await result.waitFor();
  await visitor.isAccessibleInEveryForm('the portfolio after a loss');
  await visitor.view('past');
  await page.getByRole('cell', { name: '−$10.05' }).waitFor();
  expect(await result.count()).toBe(0);
  await visitor.view('account');
  await page.reload();
  await result.waitFor();
  // A refused clipboard leaves the link to read.
  await button('Share').click();
  await page.getByText(/^Could not copy. Here it is: http/).waitFor();
  // A link to the public result has a preview with a picture, and leads people to the site.
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await button('Share').click();
  await page.getByText('Link copied.').waitFor();
  const link = (await page.evaluate('navigator.clipboard.readText()')) as string;
  const preview = await (await fetch(link)).text();
  expect(preview).toContain('<meta property="og:title" content="BTC up or down, ');
  expect(preview).toContain(' UTC: UP won">');
  const [, picture] = /property="og:image" content="([^"]+)"/.exec(preview)!;
  expect((await fetch(picture!)).headers.get('content-type')).toBe('image/png');
  await page.goto(link);
  await page.getByRole('heading', { level: 1, name: /^BTC, / }).waitFor();
  await visitor.view('account');
  await button('Dismiss').click();
  await visitor.view('past');
  await page.reload();
  await page.getByRole('cell', { name: '−$10.05' }).waitFor();
  expect(await result.count()).toBe(0);
});

test('a VOID market has one sum everywhere, and the reason of the operator', async () => {
  const maker = await server.register('other');
  const { json } = await server.api.read('/markets/15m?asset=BTC');
  const { id } = json.markets[0];
  const buy = (token: string, terms: object) =>
    server.api.post(`/markets/15m/${id}/buy`, terms, token);
  await buy(maker.token, { outcome: 'DOWN', shares: 20, price: 0.4, timeInForce: 'GTC' });
  await buy(await visitor.token(), { outcome: 'UP', amount: 6 });
  await visitor.view('');
  await page.getByText('No bids · pays $10.00 if UP').waitFor();
  const marketId = marketNumber(server.exchange.sequencer.engine, id);
  server.submit({ kind: 'voidMarket', marketId, operator: 'olga', reason: 'the feed was wrong' });
  const result = page.locator('.result');
  await expect
    .poll(() => result.textContent())
    .toMatch(
      /: *VOID.*Declared by an operator: the feed was wrong.*You get\$5.03Profit, fees included−\$1.00/,
    );
  await visitor.isAccessibleInEveryForm('a result without a winner');
  const row = page.getByRole('region', { name: 'Positions' }).last();
  await expect.poll(() => row.textContent()).toContain('$5.03');
  expect(await row.textContent()).toContain('Payout $5.03');
  await result.getByRole('button', { name: 'Claim', exact: true }).click();
  await page.getByText('$5.03 claimed from BTC ').waitFor();
  await expect.poll(() => result.textContent()).toContain('Paid to you$5.03');
  await page.getByText('No open positions.').waitFor();
});
