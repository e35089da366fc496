/**
 * Code of both example bots, which save the account and the sums of its events in a file.
 *
 * Invariant: the file is replaced as a whole. A killed bot continues where it stopped, and the
 * exchange sends the events since then. A bot that cannot continue cancels its resting orders if
 * possible, prints the reason, and exits with status 1.
 */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import {
  type Account,
  type Api,
  balance,
  ConnectionError,
  cancelEverywhere,
  claim,
  followAccount,
  isRefusal,
  login,
  moneyChange,
  register,
  type SavedAccount,
  type Stream,
  toMicros,
  type UserEvent,
} from '../index.js';

const PAUSE_MS = 100;
/** Before a longer wait, the bot cancels its resting orders. */
const LONG_MS = 5_000;

export interface Books {
  account: SavedAccount | null;
  /** In micro-dollars, by kind of event. */
  byCause: Record<string, number>;
  feesMicros: number;
  /** By kind of event: fills as taker, fills as maker, and so on. */
  counts: Record<string, number>;
  /** How often events were missed, which makes the sums above incomplete. */
  gaps: number;
  isFinished: boolean;
}

/** Signs in, or registers a new name. If a registration's answer is lost, signs in again. */
export async function signIn(api: Api, username: string, password: string): Promise<string> {
  const account = { username, password };
  for (;;) {
    try {
      const { token, userId } = await login(api, account);
      api.token = token;
      return userId;
    } catch (error) {
      if (!isRefusal(error, 'wrong_credentials')) throw error;
    }
    await register(api, account).catch((error) => {
      if (!(error instanceof ConnectionError)) throw error;
    });
  }
}

/** The exchange may already have paid. */
async function claimWon(api: Api, account: Account): Promise<void> {
  for (const [marketId, outcomes] of account.positions) {
    if (!outcomes.some(({ status }) => status === 'claimable')) continue;
    await claim(api, marketId).catch((error) => {
      if (!isRefusal(error, 'nothing_to_claim', 'already_paid')) throw error;
    });
  }
}

/**
 * Receipts and events arrive separately, and the account changes during the request, so everything
 * is checked after the balance has arrived.
 */
async function isFlat(api: Api, userId: string, account: Account): Promise<boolean> {
  const { available, held } = await balance(api, userId);
  const { orders, positions, availableMicros, heldMicros } = account;
  if (orders.size > 0 || positions.size > 0) return false;
  return toMicros(available) === availableMicros && toMicros(held) === heldMicros;
}

/** Saves every change before other code sees it. */
export function keepBooks(stream: Stream, path: string) {
  const books = { ...read(path), isFinished: false };
  const save = () => {
    writeFileSync(`${path}.new`, JSON.stringify(books));
    renameSync(`${path}.new`, path);
  };
  const { account } = followAccount(
    stream,
    {
      onChange(account, events) {
        for (const event of events) enter(books, event);
        books.account = account.toJSON();
        save();
      },
      onGap() {
        books.gaps++;
      },
    },
    // Start at the beginning: the first event is the starting balance.
    books.account ?? { ...EMPTY },
  );
  return { account, books, save };
}

interface Bot extends ReturnType<typeof keepBooks> {
  api: Api;
  stream: Stream;
  userId: string;
}

/** Until SIGTERM, then until the account is flat. */
export async function run(bot: Bot, look: (isStopping: boolean) => Promise<void>): Promise<void> {
  const { api, stream, userId, account, books, save } = bot;
  let isStopping = false;
  process.on('SIGTERM', () => {
    isStopping = true;
  });
  try {
    for (; !books.isFinished; await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))) {
      if (stream.failure !== null) throw stream.failure;
      await patiently(bot, async () => {
        await look(isStopping);
        await claimWon(api, account);
        books.isFinished = isStopping && (await isFlat(api, userId, account));
      });
    }
    save();
  } catch (error) {
    await giveUp(bot, error as Error);
  }
  stream.close();
}

let isQuiet = false;

/** During a long wait, cancels resting orders and sends nothing. */
async function patiently({ api, userId }: Bot, act: () => Promise<void>): Promise<void> {
  if (isQuiet) return;
  try {
    await act();
  } catch (error) {
    if (!isRefusal(error) || error.retryAfterMs === null) throw error;
    isQuiet = true;
    setTimeout(() => {
      isQuiet = false;
    }, error.retryAfterMs);
    process.stderr.write(`${error.message} Nothing is sent for ${error.retryAfterMs / 1_000} s.\n`);
    // Prices move during the wait. The exchange reserves room for the keys of cancels.
    if (error.retryAfterMs > LONG_MS) await cancelEverywhere(api, userId);
  }
}

async function giveUp({ api, userId, account, stream }: Bot, error: Error): Promise<void> {
  const reason = stream.failure ?? error;
  process.exitCode = 1;
  process.stderr.write(`The bot cannot go on: ${reason.message}\n`);
  try {
    const { cancelledOrders } = await cancelEverywhere(api, userId);
    process.stderr.write(`Its ${cancelledOrders} resting orders were cancelled.\n`);
  } catch (refusal) {
    const { message } = refusal as Error;
    process.stderr.write(`Its ${account.orders.size} orders still rest: ${message}\n`);
  }
}

const EMPTY: SavedAccount = {
  sequence: 0,
  channelSequence: null,
  availableMicros: 0,
  heldMicros: 0,
  orders: [],
  positions: [],
};

function enter(books: Books, event: UserEvent): void {
  const change = moneyChange(event);
  const name = event.type === 'fill' ? `fill as ${event.role}` : event.type;
  books.counts[name] = (books.counts[name] ?? 0) + 1;
  if (change !== null) {
    const { availableMicros, heldMicros } = change;
    books.byCause[event.type] = (books.byCause[event.type] ?? 0) + availableMicros + heldMicros;
  }
  if (event.type === 'fill') books.feesMicros += toMicros(event.fee);
}

function read(path: string): Books {
  if (existsSync(path)) return JSON.parse(readFileSync(path, 'utf8'));
  const sums = { byCause: {}, feesMicros: 0, counts: {}, gaps: 0 };
  return { account: null, ...sums, isFinished: false };
}
