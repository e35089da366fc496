/**
 * A person with a real browser, for tests of the site. Every page opened here records what must
 * never happen: an error in its console, and a request to another host.
 */
import { AxeBuilder } from '@axe-core/playwright';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import type { Config } from '../../../gateway/start/config.js';
import { TestServer } from '../../support/server.js';
import { launchBrowser } from '../../support/site/browser.js';

const WCAG = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];
const CONTRAST = 'color-contrast';
/** The time that `expect.poll` waits. */
const WAIT_MS = 90_000;

/** A person with a browser window. Pages opened by one visitor share their session. */
export class Visitor {
  /** Errors on any page. */
  readonly errors: string[] = [];
  readonly foreign: string[] = [];
  /** Chromium logs every failed connection. Set this where a test cuts one. */
  isCutOff = false;

  private constructor(
    readonly page: Page,
    private readonly url: string,
  ) {
    this.watch(page);
  }

  /** Opens the site. `url` ends before the path. */
  static async open(
    browser: Browser,
    url: string,
    options: BrowserContextOptions = {},
  ): Promise<Visitor> {
    const context = await browser.newContext({
      locale: 'en-US',
      reducedMotion: 'reduce',
      // It would hide requests from `page.route`.
      serviceWorkers: 'block',
      ...options,
    });
    const visitor = new Visitor(await context.newPage(), url);
    visitor.page.setDefaultTimeout(WAIT_MS);
    await visitor.page.goto(url);
    return visitor;
  }

  /** Another tab of the same browser. */
  async newTab(): Promise<Page> {
    const page = await this.page.context().newPage();
    page.setDefaultTimeout(WAIT_MS);
    this.watch(page);
    await page.goto(this.url);
    return page;
  }

  async register(username: string): Promise<void> {
    const { page } = this;
    await page.getByRole('button', { name: 'Sign up', exact: true }).click();
    await page.getByLabel('Username').fill(username);
    await page.getByLabel('Password', { exact: true }).fill('correct horse battery');
    await page.getByRole('button', { name: 'Create account' }).click();
    await page.getByRole('button', { name: 'Sign out' }).waitFor();
  }

  /** The session's token, which the browser keeps in a cookie. */
  async token(): Promise<string> {
    const cookies = await this.page.context().cookies();
    return cookies.find(({ name }) => name === 'service-session')!.value;
  }

  view(address: string): Promise<unknown> {
    return this.page.goto(`${this.url}/#/${address}`);
  }

  /** Expects that the page breaks no WCAG 2.2 AA rule that axe can check (of those in `only`). */
  async isAccessible(state: string, only?: 'contrast' | 'layout'): Promise<void> {
    const axe = new AxeBuilder({ page: this.page }).withTags(WCAG);
    if (only === 'contrast') axe.withRules([CONTRAST]);
    if (only === 'layout') axe.disableRules([CONTRAST]);
    const { violations } = await axe.analyze();
    const found = violations.map(
      ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`,
    );
    expect(found, `axe: ${state}`).toEqual([]);
  }

  /** Expects that at 320 px, nothing is beyond the page's right edge. */
  async fitsPhone(state: string): Promise<void> {
    const { page } = this;
    const usual = page.viewportSize()!;
    await page.setViewportSize({ width: 320, height: 700 });
    expect(await page.evaluate('document.documentElement.scrollWidth'), state).toBe(320);
    await page.setViewportSize(usual);
  }

  /** Checks dark colours, the light page, and 320 px, where the page must not scroll sideways. */
  async isAccessibleInEveryForm(state: string): Promise<void> {
    const { page } = this;
    const usual = page.viewportSize()!;
    await page.emulateMedia({ colorScheme: 'dark' });
    await this.isAccessible(`${state}, dark`, 'contrast');
    await page.emulateMedia({ colorScheme: 'light' });
    await this.isAccessible(`${state}, light`);
    await page.setViewportSize({ width: 320, height: 700 });
    await this.isAccessible(`${state}, at 320 px`, 'layout');
    expect(await page.evaluate('document.documentElement.scrollWidth'), state).toBe(320);
    await page.setViewportSize(usual);
  }

  /** Closes the window and expects that nothing went wrong. */
  async close(): Promise<void> {
    await this.page.context().close();
    expect(this.errors).toEqual([]);
    expect(this.foreign).toEqual([]);
  }

  private watch(page: Page): void {
    page.on('pageerror', (error) => this.errors.push(`${error.stack ?? error}`));
    page.on('console', (message) => {
      const isProblem = ['error', 'warning'].includes(message.type());
      const isBlocked = message.text() === 'Service Worker registration blocked by Playwright';
      const isOfNetwork = isRefusal(message.text()) || (this.isCutOff && isLoss(message.text()));
      const isExpected = isBlocked || isOfNetwork;
      if (isProblem && !isExpected) this.errors.push(message.text());
    });
    page.on('request', (request) => {
      if (new URL(request.url()).origin !== new URL(this.url).origin)
        this.foreign.push(request.url());
    });
  }
}

/**
 * Chromium logs every answer from 400 on, which includes the API's refusals. On a busy machine the
 * history can be too far behind to be read: that is a 503, and the page asks again.
 */
function isRefusal(text: string): boolean {
  return /^Failed to load resource: the server responded with a status of (4\d\d|503) /.test(text);
}

function isLoss(text: string): boolean {
  return /^WebSocket connection to .* failed|^Failed to load resource: net::ERR_/.test(text);
}

/** Shared by the tests of a file: one exchange, and one visitor. */
export let server: TestServer;
export let visitor: Visitor;
export let page: Page;

/** Opens both before the file's tests, and closes them afterwards. */
export function openSite(overrides: Partial<Config> = {}): void {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchBrowser();
    server = await TestServer.withMarket(overrides);
    visitor = await Visitor.open(browser, server.exchange.address);
    ({ page } = visitor);
  });
  afterEach(async ({ task }) => {
    // The page shows why a wait was in vain.
    if (task.result?.state !== 'fail') return;
    const focused = await page.evaluate('document.activeElement?.outerHTML.slice(0, 200)');
    process.stderr.write(`${page.url()}\nfocus: ${focused}\n${await page.innerText('body')}\n`);
  });
  afterAll(async () => {
    try {
      await visitor?.close();
    } finally {
      await browser?.close();
      await server?.stop();
    }
  });
}
