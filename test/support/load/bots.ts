/** The example bots as child processes, and the comparison of their books with the exchange. */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import type { Books } from '../../../gateway/client/examples/saved.js';
import * as client from '../../../gateway/client/index.js';

const PASSWORD = 'an example, not a secret';
const EXAMPLES = fileURLToPath(new URL('../../../dist/gateway/client/examples', import.meta.url));

export class BotProcess {
  errors = '';
  protected startedAtMs = 0;
  private child: ChildProcess | null = null;
  /** The exit status; null: a signal ended it. */
  exit: Promise<number | null> = Promise.resolve(null);

  protected run(program: string, args: readonly string[], env = process.env): void {
    this.startedAtMs = Date.now();
    const child = spawn(program, args, { env, stdio: ['ignore', 'inherit', 'pipe'] });
    child.stderr.on('data', (data) => (this.errors += data));
    this.exit = new Promise((resolve) => child.on('close', resolve));
    this.child = child;
  }

  stop(signal: NodeJS.Signals): Promise<number | null> {
    this.child?.kill(signal);
    return this.exit;
  }
}

export class Bot extends BotProcess {
  constructor(
    readonly name: 'market-maker' | 'taker',
    private readonly folder: string,
    private readonly url: string,
  ) {
    super();
  }

  start(): void {
    const program = join(EXAMPLES, `${this.name}.js`);
    this.run(process.execPath, [program, this.url, this.name, this.file]);
  }

  private get file(): string {
    return join(this.folder, `${this.name}.json`);
  }

  /** Fails until the bot has written its books since its last start; then it obeys signals. */
  async books(): Promise<Books> {
    expect((await stat(this.file)).mtimeMs).toBeGreaterThan(this.startedAtMs);
    return JSON.parse(await readFile(this.file, 'utf8'));
  }

  /** The books of a bot that has ended. Fails if they differ from the exchange. */
  async reconciled(): Promise<Books> {
    // The history may be behind on a busy machine.
    const retries = { attempts: 30, longestWaitMs: 500 };
    const api = new client.Api({ url: this.url, retries });
    const signedIn = await client.login(api, { username: this.name, password: PASSWORD });
    api.token = signedIn.token;
    const { userId } = signedIn;
    const books = await this.books();
    expect(books.isFinished, this.errors).toBe(true);
    const { available, held } = await client.balance(api, userId);
    const { availableMicros, heldMicros } = books.account!;
    expect([availableMicros, heldMicros]).toEqual([
      client.toMicros(available),
      client.toMicros(held),
    ]);
    expect(heldMicros).toBe(0);
    expect((await client.orders(api, userId)).orders).toEqual([]);
    expect((await client.positions(api, userId)).positions).toEqual([]);
    const entries = client.pages((paging) => client.ledger(api, userId, paging), 'entries');
    // Newest first: each entry's balance is the next one's, without the next one's change.
    const stated = { available: availableMicros, held: heldMicros };
    for await (const entry of entries) {
      const { balance, sequence } = entry;
      const after = {
        available: client.toMicros(balance.available),
        held: client.toMicros(balance.held),
      };
      expect(after, `the statement at sequence ${sequence}`).toEqual(stated);
      stated.available -= client.toMicros(entry.available);
      stated.held -= client.toMicros(entry.held);
    }
    expect(stated).toEqual({ available: 0, held: 0 });
    // No event was missed over all kills: the events since the first add up to the balance.
    expect(books.gaps).toBe(0);
    const sum = Object.values(books.byCause).reduce((total, micros) => total + micros, 0);
    expect(sum).toBe(availableMicros);
    const fills = { taker: 0, maker: 0, feesMicros: 0 };
    const trades = client.pages((paging) => client.userTrades(api, userId, paging), 'trades');
    for await (const { role, fee } of trades) {
      fills[role]++;
      fills.feesMicros += client.toMicros(fee);
    }
    const { counts, feesMicros } = books;
    const own = { taker: counts['fill as taker'] ?? 0, maker: counts['fill as maker'] ?? 0 };
    expect({ ...own, feesMicros }).toEqual(fills);
    return books;
  }
}
