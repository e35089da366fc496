/**
 * The example bots as child processes, in TypeScript and in Python, and the comparison of their
 * books with the exchange.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import * as client from '../../../gateway/client/index.js';
import { ROOT } from '../sources.js';

const PASSWORD = 'an example, not a secret';
const EXAMPLES = join(ROOT, 'dist/gateway/client/examples');
const PYTHON = join(ROOT, 'gateway/client/python');

export type Mode = 'stream' | 'poll';

/** A Python that can stream, otherwise any Python, or null if there is none. */
export async function findPython(): Promise<{ program: string; modes: Mode[] } | null> {
  let found: string | null = null;
  for (const program of ['python3', '/usr/bin/python3']) {
    const imports = (code: string) =>
      promisify(execFile)(program, ['-c', code]).then(...[() => true, () => false]);
    if (await imports('import websockets')) return { program, modes: ['stream', 'poll'] };
    if (await imports('import ssl')) found ??= program;
  }
  return found === null ? null : { program: found, modes: ['poll'] };
}

/**
 * Puts the Python client into `folder`, and returns the environment in which a program finds it.
 */
export function pythonIn(folder: string, mode: Mode): NodeJS.ProcessEnv {
  cpSync(join(PYTHON, 'quarter_hour.py'), join(folder, 'quarter_hour.py'));
  cpSync(join(PYTHON, 'examples'), folder, { recursive: true });
  // An empty package hides the installed one from bots that poll.
  mkdirSync(join(folder, 'poll'), { recursive: true });
  writeFileSync(join(folder, 'poll/websockets.py'), 'raise ImportError');
  const path = mode === 'poll' ? `${folder}:${join(folder, 'poll')}` : folder;
  return { ...process.env, PYTHONPATH: path, PYTHONDONTWRITEBYTECODE: '1' };
}

/** A bot's books, in either language. */
// biome-ignore lint/suspicious/noExplicitAny: tests read the fields of both languages
type Books = any;

export class Bot {
  errors = '';
  /** The exit status, or null if a signal ended the bot. */
  exit: Promise<number | null> = Promise.resolve(null);
  private startedAtMs = 0;
  private child: ChildProcess | null = null;
  readonly name: string;

  /** `python`: the interpreter and the mode; null for a bot in TypeScript. */
  constructor(
    private readonly program: 'market-maker' | 'taker',
    private readonly folder: string,
    /** The exchange's URL, without /api. */
    private readonly url: string,
    private readonly python: { program: string; mode: Mode } | null = null,
  ) {
    this.name = python === null ? program : `${program.replace('-', '_')}_${python.mode}`;
  }

  get isMaker(): boolean {
    return this.program === 'market-maker';
  }

  start(): void {
    const { program, folder, url, name, python } = this;
    this.startedAtMs = Date.now();
    const file = join(folder, `${name}.json`);
    const [command, env, ...args] =
      python === null
        ? [process.execPath, process.env, join(EXAMPLES, `${program}.js`), `${url}/api`]
        : [
            python.program,
            pythonIn(folder, python.mode),
            join(folder, `${program.replace('-', '_')}.py`),
            url,
          ];
    const stdio = ['ignore', 'inherit', 'pipe'] as const;
    const child = spawn(command, [...args, name, file], { env, stdio: [...stdio] });
    child.stderr!.on('data', (data) => (this.errors += data));
    this.exit = new Promise((resolve) => child.on('close', resolve));
    this.child = child;
  }

  stop(signal: NodeJS.Signals): Promise<number | null> {
    this.child?.kill(signal);
    return this.exit;
  }

  /**
   * Reads the bot's books. Fails until the bot has written them since its last start; from then on
   * it obeys signals.
   */
  books(): Books {
    const file = join(this.folder, `${this.name}.json`);
    expect(statSync(file).mtimeMs, this.errors).toBeGreaterThan(this.startedAtMs);
    return JSON.parse(readFileSync(file, 'utf8'));
  }

  /** Whether the bot owns shares, according to its books. */
  get hasShares(): boolean {
    const { positions } = this.books().account;
    return (Array.isArray(positions) ? positions : Object.keys(positions)).length > 0;
  }

  /** Money gained or lost, in micro-dollars, by the kind of event. */
  causes(): Record<string, number> {
    const { byCause, causes = {} } = this.books();
    const micros = Object.entries<number>(causes).map(([cause, dollars]) => [
      cause,
      client.toMicros(dollars),
    ]);
    return byCause ?? Object.fromEntries(micros);
  }

  async signedIn(): Promise<{ api: client.Api; userId: string }> {
    // The history may be behind on a busy machine.
    const retries = { attempts: 30, longestWaitMs: 500 };
    const api = new client.Api({ url: `${this.url}/api`, retries });
    const { token, userId } = await client.login(api, { username: this.name, password: PASSWORD });
    api.token = token;
    return { api, userId };
  }

  /** Returns the books of a bot that has ended. Fails if they differ from the exchange's. */
  async reconciled(): Promise<Books> {
    const { api, userId } = await this.signedIn();
    const books = this.books();
    // No event was missed: the events since the first add up to the balance.
    expect([books.gaps, books.isFinished], `${this.name} ${this.errors}`).toEqual([0, true]);
    const { available, held } = await client.balance(api, userId);
    const own = books.account;
    const ownMicros = own.availableMicros ?? client.toMicros(own.available);
    expect(ownMicros, this.name).toBe(client.toMicros(available));
    const sum = Object.values(this.causes()).reduce((total, micros) => total + micros, 0);
    expect(sum, this.name).toBe(client.toMicros(available) + client.toMicros(held));
    if (this.python !== null) {
      const stated: Record<string, number> = {};
      const entries = client.pages((paging) => client.ledger(api, userId, paging), 'entries');
      for await (const { cause, available, held } of entries)
        stated[cause] = (stated[cause] ?? 0) + client.toMicros(available) + client.toMicros(held);
      // A market may be settled after the bot has ended; losing shares are then an entry without
      // money.
      const moved = (sums: Record<string, number>) =>
        Object.fromEntries(Object.entries(sums).filter(([, micros]) => micros !== 0));
      expect(moved(this.causes()), this.name).toEqual(moved(stated));
      return books;
    }
    const fills = { taker: 0, maker: 0, feesMicros: 0 };
    const trades = client.pages((paging) => client.userTrades(api, userId, paging), 'trades');
    for await (const { role, fee } of trades) {
      fills[role]++;
      fills.feesMicros += client.toMicros(fee);
    }
    const { counts, feesMicros } = books;
    const counted = { taker: counts['fill as taker'] ?? 0, maker: counts['fill as maker'] ?? 0 };
    expect({ ...counted, feesMicros }).toEqual(fills);
    return books;
  }
}
