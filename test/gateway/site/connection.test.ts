/**
 * The page when the connection, or the exchange itself, is lost: it reports the loss, and is right
 * again without help. Two tabs of a browser share one session.
 */
import { createServer, connect as dial, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import type { Browser, Route } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.js';
import { type ChildServer, Exchanges } from '../../support/programs.js';
import { type ApiClient, PASSWORD } from '../../support/server.js';
import { launchBrowser } from '../../support/site/browser.js';
import { writePrices } from '../../support/site/prices.js';
import { Visitor } from './browser.js';

const exchanges = new Exchanges({ ASSETS: 'BTC', HOUSE: 'on', LOG_LEVEL: 'warn' });
const PRICES = join(exchanges.work, 'prices.csv');
let server: ChildServer;
let api: ApiClient;

/** A TCP proxy that stands for a network that can be cut. */
class Line {
  private readonly sockets = new Set<Socket>();
  private isCut = false;
  private target = 0;
  private readonly server: Server = createServer((near) => {
    const far = dial(this.target, '127.0.0.1');
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      this.sockets.add(one);
      one.on('error', () => other.destroy());
      one.on('close', () => {
        this.sockets.delete(one);
        other.destroy();
      });
    }
    if (this.isCut) near.destroy();
    near.pipe(far).pipe(near);
  });

  /** Resolves to the address. */
  async open(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.server.address() as { port: number }).port}`;
  }

  leadTo(url: string): void {
    this.target = Number(new URL(url).port);
  }

  cut(): void {
    this.isCut = true;
    for (const socket of this.sockets) socket.destroy();
  }

  mend(): void {
    this.isCut = false;
  }

  close(): void {
    this.cut();
    this.server.close();
  }
}

async function startServer(): Promise<void> {
  server = exchanges.spawn({ PRICE_FEED: `file:${PRICES}` });
  api = await exchanges.listening(server);
  line.leadTo(api.url);
}

let browser: Browser;
let line: Line;
let url: string;
beforeAll(async () => {
  browser = await launchBrowser();
  await writePrices(PRICES);
  line = new Line();
  url = await line.open();
  await startServer();
});
afterEach(() => line.mend());
afterAll(async () => {
  await browser?.close();
  line?.close();
  await exchanges.end();
});

const LOST = 'The connection to the exchange is lost.';

test('a lost connection is announced, what is shown is marked, and it catches up', async () => {
  const visitor = await Visitor.open(browser, url);
  const { page } = visitor;
  await visitor.register('linus');
  await page.locator('.book .offer:enabled').first().waitFor();
  await page.locator('#size').fill('10');
  await page.getByRole('button', { name: 'Buy UP' }).click();
  await page.getByRole('button', { name: /^Confirm/ }).waitFor();
  visitor.isCutOff = true;
  line.cut();
  await page.getByText(LOST).waitFor();
  await page.getByText('The connection was lost before you confirmed. Nothing was sent.').waitFor();
  expect(await page.locator('main.stale').count()).toBe(1);
  await page.getByText('Out of date', { exact: true }).waitFor();
  expect(await page.getByText('no order on the other side').count()).toBe(0);
  await visitor.isAccessible('without a connection');
  // At any scroll position, the page shows the loss, and nothing can be sent.
  await page.setViewportSize({ width: 800, height: 500 });
  await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)');
  expect((await page.getByText(LOST).boundingBox())?.y).toBeLessThan(100);
  for (const name of ['No connection', 'Sign out'])
    expect(await page.getByRole('button', { name }).isDisabled(), name).toBe(true);
  // On a phone, the ticket that an answer opens shows it as well.
  await page.setViewportSize({ width: 390, height: 500 });
  await page.locator('.answers button').first().click();
  expect(await page.getByRole('button', { name: 'No connection' }).isDisabled()).toBe(true);
  await page.getByRole('button', { name: 'Close', exact: true }).click();
  await visitor.isAccessible('without a connection, on a phone', 'contrast');
  await page.keyboard.press('x');
  await page.getByText('The connection is lost, so nothing was sent.').waitFor();
  await visitor.view('status');
  line.mend();
  await expect.poll(() => page.getByText(LOST).count(), { timeout: 30_000 }).toBe(0);
  expect(await page.locator('main.stale').count()).toBe(0);
  // A view that could not be loaded appears now.
  await page.getByRole('heading', { level: 1, name: 'Status' }).waitFor();
  await visitor.view('');
  // The price moves again.
  const price = page.locator('.figure', { hasText: 'BTC now' }).locator('.figure-value');
  const before = await price.textContent();
  await expect.poll(() => price.textContent(), { timeout: 20_000 }).not.toBe(before);
  await visitor.close();
});

test('a page that was open before opens again without a connection', async () => {
  const visitor = await Visitor.open(browser, url, { serviceWorkers: 'allow' });
  const { page } = visitor;
  await page.evaluate('navigator.serviceWorker.ready');
  // Only a page that opens with the worker is kept.
  await page.reload();
  await page.locator('.book .offer:enabled').first().waitFor();
  visitor.isCutOff = true;
  line.cut();
  await page.reload();
  await page.getByRole('button', { name: 'Sign up', exact: true }).waitFor();
  line.mend();
  await page.locator('.book .offer:enabled').first().waitFor();
  await visitor.close();
});

test('an order whose answer is lost is asked for again, with the same key', async () => {
  const visitor = await Visitor.open(browser, url);
  const { page } = visitor;
  await visitor.register('grace');
  await page.locator('.book .offer:enabled').first().waitFor();
  await page.getByLabel('Skip confirmation').check();
  await page.locator('#size').fill('10');
  visitor.isCutOff = true;
  // The order is executed, but its answer and all further attempts are lost.
  const loseAnswer = async (route: Route) => {
    await route.fetch();
    line.cut();
    await route.abort();
  };
  await page.route('**/buy', loseAnswer, { times: 1 });
  await page.getByRole('button', { name: 'Buy UP' }).click();
  const said = page.locator('#order-problem');
  await expect.poll(() => said.textContent(), { timeout: 30_000 }).toContain('No answer came.');
  line.mend();
  await page.getByText(/^Bought [\d.]+ UP$/).waitFor();
  expect(await said.textContent()).toBe('');
  const money = page.locator('.money strong');
  await expect.poll(() => money.textContent()).toMatch(/^\$9,98\d/);
  await visitor.close();
});

test('an exchange that stands still is announced within 3 seconds', async () => {
  const visitor = await Visitor.open(browser, url);
  const { page } = visitor;
  await page.locator('.book .offer:enabled').first().waitFor();
  server.child.kill('SIGSTOP');
  const stoppedMs = performance.now();
  await page.getByText(LOST).waitFor();
  const saidAfterMs = performance.now() - stoppedMs;
  server.child.kill('SIGCONT');
  await expect.poll(() => page.getByText(LOST).count()).toBe(0);
  // The page takes 3 s at most; the rest is for a busy machine.
  expect(saidAfterMs).toBeLessThan(20_000);
  await visitor.close();
});

test('kill -9 and a restart: the page says so, and goes on with the same account', async () => {
  const visitor = await Visitor.open(browser, url);
  const { page } = visitor;
  await visitor.register('joan');
  await page.locator('.book .offer:enabled').first().waitFor();
  await page.getByLabel('Skip confirmation').check();
  await page.locator('#size').fill('20');
  await page.getByRole('button', { name: 'Buy UP' }).click();
  const sequence = page.locator('.receipt .confirmed');
  await sequence.waitFor();
  const money = page.locator('.money strong');
  await expect.poll(() => money.textContent()).toMatch(/^\$9,97\d/);
  const before = await money.textContent();

  visitor.isCutOff = true;
  await api.close();
  await server.stop('SIGKILL');
  await page.getByText(LOST).waitFor();
  line.cut();
  await startServer();
  // The page misses this trade, because the restarted exchange keeps no messages for it.
  const { json: nina } = await api.post('/auth/register', { username: 'nina', password: PASSWORD });
  const { json: active } = await api.read('/markets/15m?asset=BTC');
  const trades = `/markets/15m/${active.markets[0].id}`;
  await eventually(async () => {
    const { status } = await api.post(`${trades}/buy`, { outcome: 'UP', amount: 5 }, nina.token);
    return status === 200;
  });
  line.mend();
  await expect.poll(() => page.getByText(LOST).count(), { timeout: 30_000 }).toBe(0);
  const tape = page.getByRole('region', { name: 'Public trades' }).getByRole('row');
  const { json: made } = await api.read(`${trades}/trades`);
  await expect.poll(() => tape.count()).toBe(made.trades.length + 1);
  // Everything answered was durable: the balance is the same, to the micro-dollar.
  await expect.poll(() => money.textContent()).toBe(before);
  await page.locator('.book .offer:enabled').first().waitFor();
  await page.locator('#size').fill('10');
  await page.getByRole('button', { name: 'Buy UP' }).click();
  await sequence.waitFor();
  await expect.poll(() => money.textContent()).toMatch(/^\$9,96\d/);
  await visitor.close();
});

test('two tabs show one account, and signing out of one signs out of both', async () => {
  const visitor = await Visitor.open(browser, url);
  const { page } = visitor;
  await visitor.register('edith');
  const other = await visitor.newTab();
  const signOut = (tab: typeof page) => tab.getByRole('button', { name: 'Sign out' });
  await signOut(other).waitFor();
  await page.locator('.book .offer:enabled').first().waitFor();
  await page.getByLabel('Skip confirmation').check();
  await page.locator('#size').fill('30');
  await page.getByRole('button', { name: 'Buy UP' }).click();
  await page.locator('.receipt .confirmed').waitFor();
  const money = (tab: typeof page) => tab.locator('.money strong').textContent();
  // Each tab has its own connection, so either may be the first to show it.
  for (const tab of [page, other]) await expect.poll(() => money(tab)).toMatch(/^\$9,96\d/);
  expect(await money(other)).toBe(await money(page));
  await signOut(other).click();
  for (const tab of [page, other])
    await tab.getByRole('button', { name: 'Sign in' }).first().waitFor();
  await visitor.close();
});
