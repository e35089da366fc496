/** The file feed on real prices: all of them, exactly, in order, each at its own time. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { type FileFeedOptions, openFileFeed } from '../../../gateway/inputs/feeds/file.js';
import { parsePriceMicros } from '../../../gateway/inputs/feeds/price-feed.js';
import { checkTickFile } from '../../../gateway/inputs/feeds/tick-file.js';
import { DAY_FILE } from '../../data/day-file.js';
import { eventually } from '../../support/eventually.js';
import { silentLog } from '../../support/house-support.js';

const HEADER = 'observedAtMs,asset,price';
const BTC = new Set(['BTC']);

const folder = mkdtempSync(join(tmpdir(), 'feed-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let files = 0;
function fileOf(...lines: string[]): string {
  const path = join(folder, `${files++}.csv`);
  writeFileSync(path, `${lines.join('\n')}\n`);
  return path;
}

interface Delivered {
  symbol: string;
  priceMicros: number;
  observedAtMs: number;
  clockMs: number;
}

/** Opens a feed and records what it delivers. `each` runs in the sink. */
async function play(options: Partial<FileFeedOptions> & { path: string }, each = () => {}) {
  const delivered: Delivered[] = [];
  const failures: Error[] = [];
  const symbols = options.symbols ?? ['BTC', 'ETH'];
  const { clock, feed } = openFileFeed({
    ticks: await checkTickFile(options.path, new Set(symbols)),
    speed: 1e8,
    symbols,
    resumeAtMs: null,
    log: silentLog,
    onFailure: (error) => failures.push(error),
    ...options,
  });
  const start = (): void =>
    feed.start((symbol, priceMicros, observedAtMs) => {
      delivered.push({ symbol, priceMicros, observedAtMs, clockMs: clock.nowMs() });
      each();
    });
  return { clock, feed, delivered, failures, start };
}

/** The file, parsed independently of the feed with strings and integers. */
function realTicks(): Omit<Delivered, 'clockMs'>[] {
  const lines = readFileSync(DAY_FILE, 'utf8').trim().split('\n').slice(1);
  return lines.map((line) => {
    const [time, symbol, price] = line.split(',') as [string, string, string];
    const [whole, fraction = ''] = price.split('.') as [string, string?];
    const priceMicros = Number(BigInt(whole + fraction.padEnd(6, '0')));
    return { symbol, priceMicros, observedAtMs: Number(time) };
  });
}

describe('a day of real prices', () => {
  test('is delivered completely, in order and exactly, each price at its time', async () => {
    const expected = realTicks();
    expect(expected).toHaveLength(2_880);
    const { clock, feed, delivered, failures, start } = await play({ path: DAY_FILE });
    expect(clock.nowMs()).toBe(expected[0]!.observedAtMs);
    start();
    await eventually(() => expect(delivered).toHaveLength(expected.length));
    expect(delivered.map(({ clockMs, ...tick }) => tick)).toEqual(expected);
    for (const tick of delivered) expect(tick.clockMs).toBe(tick.observedAtMs);
    // After the end, time continues.
    await eventually(() =>
      expect(clock.nowMs()).toBeGreaterThan(expected.at(-1)!.observedAtMs + 60_000),
    );
    await feed.stop();
    expect(failures).toEqual([]);
  });

  test('a busy machine delays no price', async () => {
    const busy = (): void => {
      const until = performance.now() + 3;
      while (performance.now() < until);
    };
    const { feed, delivered, start } = await play({ path: DAY_FILE, speed: 100_000 }, busy);
    start();
    await eventually(() => expect(delivered.length).toBeGreaterThan(200));
    await feed.stop();
    for (const tick of delivered) expect(tick.clockMs).toBe(tick.observedAtMs);
  });

  test('continues from the journal after a restart, and repeats the last millisecond', async () => {
    const expected = realTicks();
    const resumeAtMs = expected[1_000]!.observedAtMs;
    const { clock, feed, delivered, start } = await play({ path: DAY_FILE, resumeAtMs });
    expect(clock.nowMs()).toBe(resumeAtMs);
    start();
    await eventually(() => expect(delivered).toHaveLength(1_880));
    expect(delivered[0]?.observedAtMs).toBe(resumeAtMs);
    await feed.stop();

    const between = await play({ path: DAY_FILE, resumeAtMs: resumeAtMs + 1, speed: 1 });
    expect(between.clock.nowMs()).toBe(resumeAtMs + 1);
    between.start();
    await eventually(() => expect(between.clock.nowMs()).toBeGreaterThan(resumeAtMs + 1));
    expect(between.delivered).toEqual([]);
    await between.feed.stop();
  });
});

describe('other files', () => {
  test('may have several assets, and several prices at one time', async () => {
    const lines = [
      '1735689605000,BTC,1',
      '1735689605000,ETH,0.000001',
      '1735689605000,BTC,2.5',
      '1735689606000,ETH,9999999.999999',
    ];
    const { feed, delivered, start } = await play({ path: fileOf(HEADER, ...lines) });
    start();
    await eventually(() => expect(delivered).toHaveLength(4));
    await feed.stop();
    expect(delivered.map((tick) => [tick.observedAtMs, tick.symbol, tick.priceMicros])).toEqual([
      [1_735_689_605_000, 'BTC', 1_000_000],
      [1_735_689_605_000, 'ETH', 1],
      [1_735_689_605_000, 'BTC', 2_500_000],
      [1_735_689_606_000, 'ETH', 9_999_999_999_999],
    ]);
  });

  test('that end before the journal deliver no price, and time continues', async () => {
    const { clock, feed, delivered, start } = await play({
      path: fileOf(HEADER, '1735689605000,BTC,1'),
      resumeAtMs: 1_735_689_690_000,
    });
    expect(clock.nowMs()).toBe(1_735_689_690_000);
    start();
    await eventually(() => expect(clock.nowMs()).toBeGreaterThan(1_735_689_700_000));
    expect(delivered).toEqual([]);
    await feed.stop();
  });

  test('that start after the journal set the start of time', async () => {
    const { clock } = await play({
      path: fileOf(HEADER, '1735689605000,BTC,1'),
      resumeAtMs: 1_735_689_604_000,
    });
    expect(clock.nowMs()).toBe(1_735_689_605_000);
  });
});

test('blank lines, and lines that end in CRLF among others, do not matter', async () => {
  const path = fileOf(HEADER, '1735689605000,BTC,1\r', '', '1735689606000,BTC,2', '');
  expect(await checkTickFile(path, BTC)).toMatchObject({ tickCount: 2 });
});

describe('an invalid file stops the start, and the error names the line', () => {
  const good = '1735689605000,BTC,1';
  test.each<[string, RegExp, ...string[]]>([
    ['no header', /line 1: the header must be observedAtMs,asset,price/, good],
    ['another header', /line 1: the header/, 'time,asset,price', good],
    ['a missing column', /line 3: 2 columns, must be 3/, HEADER, good, '1735689606000,BTC'],
    ['an extra column', /line 3: 4 columns/, HEADER, good, '1735689606000,BTC,1,2'],
    ['seconds', /line 2: .*looks like seconds: multiply by 1,000/, HEADER, '1735689600,BTC,1'],
    ['microseconds', /looks like microseconds: divide/, HEADER, '1735689600000000,BTC,1'],
    ['nanoseconds', /looks like nanoseconds: divide/, HEADER, '1735689600000000000,BTC,1'],
    ['a time of 0', /line 2: .*the years 2000 to 2099, not "0"/, HEADER, '0,BTC,1'],
    ['a time of the year 2243', /line 2: .*not "8639999999999"/, HEADER, '8639999999999,BTC,1'],
    ['what a terminal would obey', /no asset "\\u001b\[2J"/, HEADER, '1735689605000,\x1b[2J,1'],
    ['not a time', /line 3: observedAtMs must be .* not "soon"/, HEADER, good, 'soon,BTC,1'],
    ['a fraction of a millisecond', /line 2: observedAtMs/, HEADER, '1735689605000.5,BTC,1'],
    [
      'a time that goes back',
      /line 4: the time goes back, from 1735689606000 to 1735689605999/,
      HEADER,
      good,
      '1735689606000,BTC,1',
      '1735689605999,BTC,1',
    ],
    [
      'an unknown asset',
      /line 3: the exchange has no asset "DOGE"/,
      HEADER,
      good,
      '1735689606000,DOGE,1',
    ],
    ['no price', /line 2: price must be dollars, .*, not ""/, HEADER, '1735689605000,BTC,'],
    [
      'an open quote',
      /up to line 1\d, a quote is not closed/,
      HEADER,
      good,
      '1735689606000,"BTC,1',
      ...Array(999).fill(good),
    ],
    ['no prices', /contains no price/, HEADER],
    ['an empty file', /line 1|contains no price/, ''],
  ])('%s', async (_what, message, ...lines) => {
    await expect(checkTickFile(fileOf(...lines), BTC)).rejects.toThrow(message);
  });

  test('a directory or a pipe, which could not be read twice', async () => {
    await expect(checkTickFile(folder, BTC)).rejects.toThrow(/feed-.* is not a regular file/);
    const pipe = join(folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
    await expect(checkTickFile(pipe, BTC)).rejects.toThrow(/pipe is not a regular file/);
  });

  test('a missing file', async () => {
    await expect(checkTickFile(join(folder, 'none.csv'), BTC)).rejects.toThrow(/ENOENT/);
  });

  test('a file that becomes invalid after the start stops the exchange', async () => {
    const path = fileOf(HEADER, '1735689605000,BTC,1', '1735689606000,BTC,2');
    const { feed, delivered, failures, start } = await play({ path });
    writeFileSync(path, `${HEADER}\n1735689605000,BTC,1\n1735689606000,BTC,two\n`);
    start();
    await eventually(() => expect(failures).toHaveLength(1));
    expect(failures[0]?.message).toMatch(/line 3: price/);
    expect(delivered).toHaveLength(1);
    await feed.stop();
  });
});

test.each<[string, number | null]>([
  ['20375.76', 20_375_760_000],
  ['1', 1_000_000],
  ['0.000001', 1],
  ['10000000', 10_000_000_000_000],
  ['10000000.000001', null],
  ['0.0000001', null],
  ['1.1000000', 1_100_000],
  ['0', null],
  ['', null],
  ['.5', null],
  ['1.', null],
  ['+1', null],
  ['NaN', null],
  [' 1', null],
  ['1_000', null],
])('the price "%s" is %s micros', (text, micros) => {
  expect(parsePriceMicros(text)).toBe(micros);
});
