/**
 * Resting orders and positions on the page: amend with every refusal beside its field, cancel all
 * by one request, sell all and claim; by buttons and by keys.
 */
import { beforeAll, expect, test } from 'vitest';
import { MARKET, type Trader, WINDOW_MS, WINDOW_START_MS } from '../../support/server.js';
import { openSite, page, server, visitor } from './browser.js';

openSite({ startingBalanceMicros: 1_000_000_000 });
let maker: Trader;
let token: string;
let userId: string;
beforeAll(async () => {
  maker = await server.register('maker');
  await visitor.register('ada');
  token = await visitor.token();
  userId = (await server.api.get('/auth/session', token)).json.userId;
});

const BUY = `/markets/15m/${MARKET}/buy`;

async function rest(of: string, outcome: 'UP' | 'DOWN', shares: number, price: number) {
  const body = { outcome, shares, price, timeInForce: 'GTC' };
  const { status, json } = await server.api.post(BUY, body, of);
  expect(status, JSON.stringify(json)).toBe(200);
  return json.orderId as string;
}

/** The exchange's list, oldest first. */
async function resting(): Promise<{ price: number; shares: number }[]> {
  const { json } = await server.api.get(`/users/${userId}/orders`, token);
  return json.orders.map(({ price, shares }: { price: number; shares: number }) => {
    return { price, shares };
  });
}

const button = (name: string | RegExp) => page.getByRole('button', { name }).first();
const notice = () => page.locator('.notice');
const amount = () => page.locator('#amend-size');
const price = () => page.locator('#amend-price');

async function problem(of: string, text: string): Promise<void> {
  const said = page.locator(`#${of}-problem`);
  await expect.poll(() => said.textContent()).toContain(text);
}

test('amend: what is typed and what the exchange refuses is said beside its field', async () => {
  const orderId = await rest(token, 'UP', 100, 0.25);
  await rest(maker.token, 'DOWN', 5, 0.4);
  await button('Amend: buy UP at 25¢').click();
  const send = page.getByRole('button', { name: 'Amend', exact: true });
  await expect.poll(() => amount().inputValue()).toBe('100');
  for (const typed of ['', 'many', '0', '1.0001', '4,5']) {
    await amount().fill(typed);
    await send.click();
    await problem('amend-size', 'Enter a number of shares');
  }
  await amount().fill('100');
  for (const typed of ['', '0', '0.55', '100', '25.05']) {
    await price().fill(typed);
    await send.click();
    await problem('amend-price', 'Enter a price in cents from 0.1¢ to 99.9¢');
  }
  await visitor.isAccessibleInEveryForm('an amendment, refused');
  await price().fill('25');
  await amount().fill('5000');
  await send.click();
  await problem('amend-size', 'requires');
  expect(await resting()).toEqual([{ price: 0.25, shares: 100 }]);

  // With fewer shares the order keeps its place. At another price it loses it, and trades.
  await amount().fill('40');
  await send.click();
  await expect.poll(() => notice().textContent()).toContain('40 open at 25¢, it kept its place');
  expect(await resting()).toEqual([{ price: 0.25, shares: 40 }]);
  await page.locator('h1').click();
  await page.keyboard.press('e');
  await expect.poll(() => amount().inputValue()).toBe('40');
  await price().fill('60');
  await page.keyboard.press('Enter');
  await expect.poll(() => notice().textContent()).toContain('5 traded at 60¢, 35 open at 60¢');
  await visitor.isAccessibleInEveryForm('an order that was amended');

  // The size includes filled shares, and the page reports an order that is gone.
  await button('Amend: buy UP at 60¢').click();
  await expect.poll(() => amount().inputValue()).toBe('40');
  await page.getByText('5 filled.').waitFor();
  const path = `/markets/15m/${MARKET}/orders/${orderId}`;
  await server.api.send('DELETE', path, undefined, { token });
  await amount().fill('30');
  await send.click();
  await page.getByRole('dialog').getByText('The order is no longer resting').waitFor();
  await page.keyboard.press('Escape');
  await expect.poll(() => page.locator('dialog').count()).toBe(0);
});

test('a post-only order that would trade is refused beside the price', async () => {
  await rest(maker.token, 'DOWN', 5, 0.3);
  const body = { outcome: 'UP', shares: 10, price: 0.2, timeInForce: 'GTC', postOnly: true };
  await server.api.post(BUY, body, token);
  await button('Amend: buy UP at 20¢').click();
  await expect.poll(() => amount().inputValue()).toBe('10');
  await price().fill('75');
  await page.getByRole('button', { name: 'Amend', exact: true }).click();
  await problem('amend-price', 'would trade immediately');
  await page.keyboard.press('Escape');
});

test('cancel all is one request, by the button and by its key', async () => {
  const sent: string[] = [];
  page.on('request', (request) => {
    if (request.method() === 'DELETE') sent.push(new URL(request.url()).pathname);
  });
  await rest(token, 'DOWN', 10, 0.1);
  const table = page.getByRole('region', { name: 'Open orders' }).last();
  await expect.poll(() => table.getByRole('row').count()).toBe(3);
  await button('Cancel all').click();
  await expect.poll(() => notice().textContent()).toContain('2 orders cancelled.');
  expect(sent).toEqual([`/api/users/${userId}/orders`]);
  expect(await resting()).toEqual([]);
  await page.locator('h1').click();
  await page.keyboard.press('x');
  await expect.poll(() => notice().textContent()).toContain('There were no open orders.');
  await page.keyboard.press('e');
  await expect.poll(() => notice().textContent()).toContain('There are no open orders.');

  // Cancelled orders appear in the list of closed orders without a reload.
  await visitor.view('account/orders');
  const closed = page.getByRole('region', { name: 'Closed orders' }).last().getByRole('row');
  await expect.poll(() => closed.count()).toBeGreaterThan(1);
  const before = await closed.count();
  await rest(token, 'DOWN', 10, 0.1);
  await button('Cancel all').click();
  await expect.poll(() => closed.count()).toBe(before + 1);
  await visitor.view('');
});

test('pairs are turned into dollars', async () => {
  for (const [outcome, other] of [
    ['UP', 'DOWN'],
    ['DOWN', 'UP'],
  ] as const) {
    await rest(maker.token, other, 3, 0.4);
    const { json } = await server.api.post(BUY, { outcome, shares: 3, price: 0.6 }, token);
    expect(json.shares).toBe(3);
  }
  const turn = button('Turn 3 UP and 3 DOWN into $3.00');
  await turn.click();
  await expect.poll(() => notice().textContent()).toContain('3 pairs turned into $3.00.');
  await expect.poll(() => turn.count()).toBe(0);
  const { json } = await server.api.get(`/users/${userId}/positions`, token);
  expect(json.positions).toMatchObject([{ outcome: 'UP', shares: 5 }]);
});

test('sell all and claim, by their keys', async () => {
  const { keyboard } = page;
  // A buyer for the held shares, 5 UP.
  const body = { outcome: 'UP', shares: 3, price: 0.5, timeInForce: 'GTC' };
  await server.api.post(BUY, body, maker.token);
  await page.locator('.book .bid:enabled').first().waitFor();
  await page.getByText('Sell now $1.50 · pays $5.00 if UP').waitFor();
  await keyboard.press('w');
  const send = page.getByRole('button', { name: 'Sell UP' });
  await expect.poll(() => send.evaluate((it) => it === it.ownerDocument.activeElement)).toBe(true);
  expect(await page.locator('#size').inputValue()).toBe('5');
  const confirm = page.getByRole('button', { name: 'Confirm: sell 3 UP for $1.50' });
  await keyboard.press('Enter');
  await confirm.waitFor();
  // A change of the order withdraws the first click.
  await keyboard.press('l');
  await expect.poll(() => page.locator('#price:focus').count()).toBe(1);
  await expect.poll(() => confirm.count()).toBe(0);
  await keyboard.press('Escape');
  await keyboard.press('w');
  await expect.poll(() => send.evaluate((it) => it === it.ownerDocument.activeElement)).toBe(true);
  await keyboard.press('Enter');
  await confirm.waitFor();
  await page.locator('.book .bid:enabled').first().click();
  await expect.poll(() => confirm.count()).toBe(0);
  await page.locator('h1').click();
  await keyboard.press('w');
  await expect.poll(() => send.evaluate((it) => it === it.ownerDocument.activeElement)).toBe(true);
  await keyboard.press('Enter');
  await confirm.waitFor();
  await keyboard.press('Enter');
  await page.getByText('Sold 3 UP').waitFor();
  // Like its key, the button sells nothing at one click. It is not cut off at any width.
  await server.api.post(BUY, body, maker.token);
  const usual = page.viewportSize()!;
  for (const width of [1600, 1360, 1280, 1000, 800, 390, 320]) {
    await page.setViewportSize({ width, height: 800 });
    const panel = (await page.locator('.own .panel').first().boundingBox())!;
    const box = (await button(/^Sell all UP/).boundingBox())!;
    expect(box.x + box.width, `at ${width} px`).toBeLessThanOrEqual(panel.x + panel.width);
  }
  await page.setViewportSize(usual);
  await button(/^Sell all UP/).click();
  await page.getByText('You get', { exact: true }).waitFor();
  await expect.poll(() => send.evaluate((it) => it === it.ownerDocument.activeElement)).toBe(true);
  expect(await page.locator('#size').inputValue()).toBe('2');
  await visitor.isAccessibleInEveryForm('a sale of all');
  await button('Limit').click();
  await page.locator('#price').fill('90');
  await send.press('Enter');
  await button(/^Confirm/).press('Enter');
  await page.getByText('Open order: sell UP').waitFor();
  await page.locator('h1').click();
  await keyboard.press('x');
  const cancelled = page.getByText('Cancelled: sell UP');
  await cancelled.waitFor();

  await page.locator('h1').click();
  await keyboard.press('c');
  await expect.poll(() => notice().textContent()).toContain('There is nothing to claim.');
  for (let n = 1; server.clock.nowMs() < WINDOW_START_MS + WINDOW_MS + 2_000; n++)
    await server.passTime(server.clock.nowMs() + 7_301, 100_000 + n);
  await server.advance();
  await button(/^Claim UP/).waitFor();
  // A receipt shows what became of its order.
  expect(await cancelled.count()).toBe(1);
  const result = page.locator('.result');
  await expect.poll(() => result.textContent()).toMatch(/: *UP won.*You had2 UPYou get\$2.00/);
  // The receipt covers neither the positions nor the ticket.
  const card = (await result.boundingBox())!;
  const positions = (await page.getByRole('region', { name: 'Positions' }).first().boundingBox())!;
  expect(card.y + card.height).toBeLessThanOrEqual(positions.y);
  const ticket = (await page.locator('.ticket-panel').boundingBox())!;
  expect(card.x + card.width).toBeLessThanOrEqual(ticket.x);
  await visitor.view('account');
  await result.waitFor();
  await page.reload();
  await result.waitFor();
  await visitor.isAccessibleInEveryForm('a result that is not read yet');
  await page.getByRole('button', { name: 'Dismiss', exact: true }).click();
  await expect.poll(() => result.count()).toBe(0);
  await visitor.view('');
  await button(/^Claim UP/).waitFor();
  await page.locator('h1').click();
  await keyboard.press('c');
  await expect.poll(() => notice().textContent()).toContain('$2.00 claimed from 1 market.');
  const { json } = await server.api.get(`/users/${userId}/positions`, token);
  expect(json.positions).toEqual([]);
});
