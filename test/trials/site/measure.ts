/**
 * Measures the site against its budgets in headless Chromium and prints a table with the method.
 */

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import Table from 'cli-table3';
import type { Browser, BrowserContextOptions, CDPSession, Page } from 'playwright-core';
import { withBrowser } from '../../support/site/browser.js';
import { findViolations } from './access.js';
import { type ExchangeOptions, withExchange } from './exchange.js';
import { PROBE_SCRIPT, type Probe } from './probe.js';
import { prepareTraffic } from './traffic.js';

interface Row {
  what: string;
  measured: string;
  goal: string;
  isKept: boolean;
  method: string;
}

const BUILT = fileURLToPath(new URL('../../../site/', import.meta.url));
const CHANGES_PER_SECOND = 50;
const CHANGES = 1_000;
const ROLLOVERS = 3;

const rows: Row[] = [];

function report(what: string, value: number, goal: number, unit: string, method: string): void {
  const text = (amount: number) => `${Number(amount.toFixed(3))}${unit}`;
  rows.push({ what, measured: text(value), goal: text(goal), isKept: value <= goal, method });
}

interface Visit {
  page: Page;
  devtools: CDPSession;
  foreign: string[];
  probe: () => Promise<Probe>;
}

async function visit(
  browser: Browser,
  url: string,
  prepare: (devtools: CDPSession) => Promise<void> = async () => {},
  options: BrowserContextOptions = {},
): Promise<Visit> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  const devtools = await context.newCDPSession(page);
  const foreign: string[] = [];
  page.on('request', (request) => {
    if (!request.url().startsWith(url)) foreign.push(request.url());
  });
  await page.addInitScript(PROBE_SCRIPT);
  await prepare(devtools);
  await page.goto(url);
  await page.locator('.book .offer:enabled').first().waitFor();
  await page.locator('.chart canvas').waitFor();
  return { page, devtools, foreign, probe: () => page.evaluate<Probe>('probe') };
}

function measureFiles(): void {
  const kilobytes = (name: string) => statSync(`${BUILT}${name}.br`).size / 1_000;
  const scripts = readdirSync(BUILT).filter((name) => name.endsWith('.js'));
  const page = readFileSync(`${BUILT}index.html`, 'utf8');
  const first = scripts.filter((name) => page.includes(name));
  const sum = (names: readonly string[]) =>
    names.reduce((total, name) => total + kilobytes(name), 0);
  report('JavaScript, first view', sum(first), 40, ' KB', 'brotli, what the page names');
  report('JavaScript, in all', sum(scripts), 80, ' KB', 'brotli, every script of the build');
}

async function slowed(devtools: CDPSession): Promise<void> {
  await devtools.send('Network.enable');
  const bytesPerSecond = 1_600_000 / 8;
  await devtools.send('Network.emulateNetworkConditions', {
    offline: false,
    latency: 150,
    downloadThroughput: bytesPerSecond,
    uploadThroughput: bytesPerSecond,
  });
  await devtools.send('Emulation.setCPUThrottlingRate', { rate: 4 });
}

async function measureLoading(browser: Browser, url: string): Promise<void> {
  const fast = await visit(browser, url);
  await sleep(1_500);
  const local = await fast.probe();
  report('largest paint, local', local.largestPaintMs / 1_000, 0.5, ' s', 'PerformanceObserver');
  await useEverything(fast.page);
  const used = await fast.probe();
  report('layout shift', used.layoutShift, 0.02, '', 'loading and use, without input');
  const slowest = Math.max(0, ...used.interactionsMs);
  report('slowest interaction', slowest, 100, ' ms', 'event timing: tabs, fields, dialogs, views');
  report('foreign requests', fast.foreign.length, 0, '', 'every request of the visit');
  await fast.page.context().close();

  const slow = await visit(browser, url, slowed);
  await sleep(2_000);
  const { largestPaintMs } = await slow.probe();
  const method = 'CPU 4 times slower, 1.6 Mbit/s, 150 ms';
  report('largest paint, slowed', largestPaintMs / 1_000, 1.5, ' s', method);
  await slow.page.context().close();
}

async function useEverything(page: Page): Promise<void> {
  await page.getByRole('button', { name: /DOWN/ }).first().click();
  await page.getByRole('button', { name: 'Limit', exact: true }).click();
  await page.locator('.book .offer:enabled').first().click();
  await page.locator('#size').pressSequentially('123.45');
  await page.getByRole('button', { name: 'Sell', exact: true }).click();
  await page.getByRole('button', { name: 'Buy', exact: true }).click();
  await page.locator('h1').click();
  await page.keyboard.press('?');
  await page.getByRole('heading', { name: 'Shortcuts' }).waitFor();
  await page.keyboard.press('Escape');
  for (const name of ['Past markets', 'Leaderboard', 'Portfolio', 'BTC'])
    await page.getByRole('link', { name, exact: true }).first().click();
  await page.locator('.book .offer:enabled').first().waitFor();
  await sleep(500);
}

async function measureTraffic(browser: Browser, url: string): Promise<void> {
  const traffic = await prepareTraffic(url);
  const { page, devtools, probe } = await visit(browser, url);
  // Opening the page does not count as traffic.
  await sleep(3_000);
  // Counts the CPU time of the page's thread, not the time in which it waited for a core.
  await devtools.send('Performance.enable', { timeDomain: 'threadTicks' });
  const busySeconds = async () => {
    const { metrics } = await devtools.send('Performance.getMetrics');
    return metrics.find(({ name }) => name === 'TaskDuration')!.value;
  };
  const before = await probe();
  const busyBefore = await busySeconds();
  const { changes, seconds } = await traffic.run(CHANGES_PER_SECOND, CHANGES);
  const busy = (await busySeconds()) - busyBefore;
  const { paintsMs, longTasksMs } = await probe();
  const paints = paintsMs.slice(before.paintsMs.length).sort((one, other) => one - other);
  const at = (part: number) => paints[Math.floor(paints.length * part)] ?? Number.NaN;
  const method = `${paints.length} book messages, arrival to the task after the paint`;
  report('stream message to paint, p50', at(0.5), 17, ' ms', method);
  report('stream message to paint, p99', at(0.99), 50, ' ms', method);
  const rate = `${changes} book changes, ${(changes / seconds).toFixed(1)} a second`;
  report('part of a core', busy / seconds, 0.1, '', `CPU time of the page's tasks, ${rate}`);
  const longest = Math.max(0, ...longTasksMs.slice(before.longTasksMs.length));
  report('longest task', longest, 50, ' ms', `longtask entries (none below 50 ms), ${rate}`);
  await page.context().close();
}

async function measureMemory(browser: Browser, url: string): Promise<void> {
  const { page, devtools } = await visit(browser, url);
  await devtools.send('HeapProfiler.enable');
  const heapMegabytes = async () => {
    await devtools.send('HeapProfiler.collectGarbage');
    const { usedSize } = await devtools.send('Runtime.getHeapUsage');
    return usedSize / 1e6;
  };
  const window = page.locator('[data-window]');
  /**
   * Resolves early in the next market, so that all measurements are at the same moment of a market.
   */
  const rollover = async () => {
    const shown = await window.textContent();
    while ((await window.count()) === 0 || (await window.textContent()) === shown) await sleep(100);
    await sleep(3_000);
  };
  // The first markets fill the chart and the lists to their final size.
  await rollover();
  await rollover();
  const before = await heapMegabytes();
  for (let each = 0; each < ROLLOVERS; each++) await rollover();
  const after = await heapMegabytes();
  const method = `heap after a collection, ${after.toFixed(2)} MB at the end, at 60 times`;
  report('memory over three rollovers', after - before, 1, ' MB', method);
  await page.context().close();
}

async function measureAccess(browser: Browser, url: string): Promise<void> {
  const { states, violations } = await findViolations(browser, url);
  const method = `axe, WCAG 2.2 AA: ${states} states, in dark, light and at 320 px`;
  report('accessibility violations', violations, 0, '', method);
}

interface Section {
  /** Options of the section's own exchange. */
  options: ExchangeOptions;
  measure: (browser: Browser, url: string) => Promise<void>;
}

const SECTIONS: Record<string, Section> = {
  loading: { options: { feed: 'file', speed: 1 }, measure: measureLoading },
  // Without a house, only these clients change the book.
  traffic: {
    options: { feed: 'file', speed: 1, variables: { HOUSE: 'off' } },
    measure: measureTraffic,
  },
  access: { options: { feed: 'simulated', speed: 20 }, measure: measureAccess },
  memory: { options: { feed: 'simulated', speed: 60 }, measure: measureMemory },
};

export const SECTION_NAMES = Object.keys(SECTIONS);

/**
 * Measures the named sections, or all if none is named. The exit status is 1 if a budget is not
 * kept.
 */
export async function measureSite(asked: readonly string[]): Promise<void> {
  measureFiles();
  await withBrowser(async (browser) => {
    for (const [name, { options, measure }] of Object.entries(SECTIONS)) {
      if (asked.length > 0 && !asked.includes(name)) continue;
      try {
        await withExchange(options, (url) => measure(browser, url));
      } catch (error) {
        // The results of the other sections are still printed.
        rows.push({ what: name, measured: 'failed', goal: '', isKept: false, method: `${error}` });
      }
    }
  });
  const table = new Table({
    head: ['what', 'measured', 'goal', '', 'method'],
    style: { head: [] },
  });
  for (const { what, measured, goal, isKept, method } of rows)
    table.push([what, measured, goal, isKept ? 'kept' : 'NOT KEPT', method]);
  console.log(table.toString());
  process.exitCode = rows.every(({ isKept }) => isKept) ? 0 : 1;
}
