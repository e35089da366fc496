/**
 * The client in Python: its account and book equal the exchange's, a change is executed once though
 * answers are lost, and its example bots end with the books of the exchange, though they and the
 * exchange are killed. With the package websockets it streams; without it, it polls.
 */
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { credentialOf } from '../../../gateway/access/sign-in-codes.js';
import * as client from '../../../gateway/client/index.js';
import { Api } from '../../../gateway/client/index.js';
import { eventually } from '../../support/eventually.js';
import { extent, SEED } from '../../support/extent.js';
import { BotProcess } from '../../support/load/bots.js';
import { ChildServer, freePort } from '../../support/programs.js';
import { MARKET, TestServer } from '../../support/server.js';
import { ROOT } from '../../support/sources.js';
import { Random } from '../../support/workload/random.js';
import { streamLimits } from '../stream/support.js';
import { findPython, type Mode } from './find-python.js';
import { Relay } from './relay.js';

const run = promisify(execFile);
const PYTHON = join(ROOT, 'gateway/client/python');
const PASSWORD = 'an example, not a secret';
/** Each pair of bots is killed so often, and the exchange. */
const KILLS = extent(20, 1);
const random = new Random(SEED);

const python = await findPython();
if (python === null) process.stderr.write('There is no python3: its client is not tested.\n');
else if (python.modes.length === 1)
  process.stderr.write('There is no package websockets for python3: only polling is tested.\n');

const folder = await mkdtemp(join(tmpdir(), 'python-'));
cpSync(join(PYTHON, 'quarter_hour.py'), join(folder, 'quarter_hour.py'));
cpSync(join(PYTHON, 'examples'), folder, { recursive: true });
// Hides the package from those that poll.
mkdirSync(join(folder, 'poll'));
writeFileSync(join(folder, 'poll/websockets.py'), 'raise ImportError');
afterAll(() => rm(folder, { recursive: true, force: true }));

function environment(mode: Mode) {
  const path = mode === 'poll' ? `${folder}:${join(folder, 'poll')}` : folder;
  return { ...process.env, PYTHONPATH: path, PYTHONDONTWRITEBYTECODE: '1' };
}

describe.skipIf(python === null)('against an exchange whose time stands still', () => {
  let server: TestServer;
  /** Forwards each connection's requests, and loses the answer to every other order. */
  const lossy = createServer((from) => {
    const to = connect(server.exchange.port, '127.0.0.1');
    for (const socket of [from, to]) socket.on('error', () => from.destroy());
    let isLost = false;
    from.on('data', (data) => {
      if (`${data}`.includes('/buy')) isLost = ++orders % 2 === 1;
      to.write(data);
    });
    to.on('data', (data) => (isLost ? from.destroy() : from.write(data)));
    from.on('close', () => to.destroy());
  });
  let orders = 0;
  beforeAll(async () => {
    server = await TestServer.withMarket(streamLimits({ heartbeatMs: 100 }));
    await new Promise<void>((resolve) => lossy.listen(0, '127.0.0.1', resolve));
  });
  afterAll(async () => {
    lossy.close();
    await server.stop();
  });

  test.each(python?.modes ?? [])(
    '%s: equals the exchange, and changes are executed once',
    async (mode) => {
      const { port } = lossy.address() as AddressInfo;
      const addresses = [server.api.url, `http://127.0.0.1:${port}`];
      const { userId } = await server.register(`forgot-${mode}`);
      const credential = credentialOf('a code', server.clock.nowMs() + 1_000);
      const action = { operator: 'olga', reason: 'forgotten' };
      const owner = Number(userId.slice(1));
      server.submit({ kind: 'resetCredential', userId: owner, credential, ...action });
      const args = [join(ROOT, 'test/gateway/client/checks.py'), ...addresses, MARKET, mode];
      const { stdout } = await run(python!.program, args, { env: environment(mode) });
      expect(stdout).toBe(`checked ${mode}\n`);
    },
  );

  test.each(python?.modes ?? [])('%s: no refusal, loss or end is silent', async (mode) => {
    const relay = await Relay.to(server.exchange.port);
    let isLost = false;
    relay.loses = (text) => {
      if (!text.includes('"delta"') || !text.includes('"lost-')) return false;
      const isAgain = isLost && text.includes('"lost-once-');
      isLost = true;
      return !isAgain;
    };
    const args = [join(ROOT, 'test/gateway/client/ends.py'), relay.url, MARKET, mode];
    const { stdout } = await run(python!.program, args, { env: environment(mode) });
    relay.stop();
    expect(stdout).toBe(`checked ${mode}\n`);
  });

  test('runs the example of the README', async () => {
    const text = readFileSync(join(ROOT, 'README.md'), 'utf8');
    const [, example] = /```python\n([\s\S]*?)```/.exec(text)!;
    const { token } = await server.register('offers');
    const offer = { outcome: 'DOWN', shares: 100, price: 0.5, timeInForce: 'GTC' };
    await server.api.post(`/markets/15m/${MARKET}/buy`, offer, token);
    const code = example!.replace('http://127.0.0.1:3000', server.api.url);
    const env = environment(python!.modes[0]!);
    const { stdout } = await run(python!.program, ['-c', code], { env });
    expect(stdout).toContain('filled [');
  });
});

interface Books {
  mode: Mode;
  account: { available: number; held: number };
  causes: Record<string, number>;
  gaps: number;
  isFinished: boolean;
}

class Bot extends BotProcess {
  constructor(
    readonly program: 'market_maker' | 'taker',
    readonly mode: Mode,
  ) {
    super();
  }

  get name(): string {
    return `${this.program}_${this.mode}`;
  }

  start(port: number): void {
    const program = join(folder, `${this.program}.py`);
    const args = [program, `http://127.0.0.1:${port}`, this.name, join(folder, this.name)];
    this.run(python!.program, args, environment(this.mode));
  }

  /** Fails until the bot has written them since its last start: then it obeys signals. */
  books(): Books {
    const file = join(folder, this.name);
    expect(statSync(file).mtimeMs).toBeGreaterThan(this.startedAtMs);
    return JSON.parse(readFileSync(file, 'utf8'));
  }
}

/** The books of a bot that has ended, beside the statement. */
async function reconcile(bot: Bot, url: string): Promise<void> {
  const api = new Api({ url });
  const signedIn = await client.login(api, { username: bot.name, password: PASSWORD });
  api.token = signedIn.token;
  const { userId } = signedIn;
  const { account, causes, ...rest } = bot.books();
  expect(rest, bot.errors).toEqual({ mode: bot.mode, gaps: 0, isFinished: true });
  const { available, held } = await client.balance(api, userId);
  expect(account).toMatchObject({ available, held });
  const stated: Record<string, number> = {};
  const entries = client.pages((paging) => client.ledger(api, userId, paging), 'entries');
  for await (const { cause, available, held } of entries)
    stated[cause] = (stated[cause] ?? 0) + client.toMicros(available) + client.toMicros(held);
  const own = Object.entries(causes).map(([cause, dollars]) => [cause, client.toMicros(dollars)]);
  // A market may be settled after the bot has ended: shares that lost are an entry of no money.
  const moved = (sums: Iterable<readonly unknown[]>) =>
    Object.fromEntries([...sums].filter(([, micros]) => micros !== 0) as [string, number][]);
  expect(moved(own)).toEqual(moved(Object.entries(stated)));
  const sum = Object.values(stated).reduce((total, micros) => total + micros, 0);
  expect(sum).toBe(client.toMicros(available) + client.toMicros(held));
}

/** Which market a bot trades in, and whether it wins, is luck; and machines may be slow. */
const LUCK_MS = 240_000;

test.skipIf(python === null)(
  `the bots end with the books of the exchange, SEED=${SEED}`,
  {
    timeout: 3 * LUCK_MS + KILLS * 15_000,
  },
  async () => {
    const port = await freePort();
    const bots = python!.modes.flatMap((mode) => [
      new Bot('market_maker', mode),
      new Bot('taker', mode),
    ]);
    let server: ChildServer | null = null;
    const startExchange = async () => {
      server = ChildServer.spawn({
        DATA_FOLDER: join(folder, 'data'),
        PORT: `${port}`,
        ASSETS: 'BTC,ETH',
        FEED_SPEED: '30',
        LOG_LEVEL: 'warn',
      });
      await (await server.listening()).close();
    };
    /** Until each mode has a bot with such a change: which of them has one is a matter of luck. */
    const have = (cause: string) =>
      eventually(() => {
        const errors = bots.map((bot) => bot.errors).join('');
        const done = bots.filter((bot) => (bot.books().causes[cause] ?? 0) !== 0);
        expect(new Set(done.map(({ mode }) => mode)).size, errors).toBe(python!.modes.length);
      }, LUCK_MS);
    try {
      await startExchange();
      for (const bot of bots) bot.start(port);
      await have('fill');
      for (let killed = 0; killed < KILLS; killed++) {
        const bot = random.pick(bots);
        await Promise.all([bot.stop('SIGKILL'), server!.stop('SIGKILL')]);
        bot.start(port);
        await startExchange();
        await new Promise((resolve) => setTimeout(resolve, random.whole(500, 2_000)));
      }
      await have('claim');
      const exits = await Promise.all(bots.map((bot) => bot.stop('SIGTERM')));
      expect(exits, bots.map(({ errors }) => errors).join('')).toEqual(bots.map(() => 0));
      for (const bot of bots) await reconcile(bot, `http://127.0.0.1:${port}/api`);
    } finally {
      for (const bot of bots) await bot.stop('SIGKILL');
      await server!.stop('SIGKILL');
    }
  },
);
