/**
 * What both example bots do: they keep books in a file, the account at a sequence and what its
 * events add up to; and they run until they are stopped or cannot go on.
 *
 * Always holds: the file is replaced as a whole, so a bot that is killed continues where it was,
 * and the exchange sends the events since. A bot that cannot go on cancels what rests if it still
 * can, says why, and exits with status 1.
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

/** Between two looks. */
const PAUSE_MS = 100;
/** For a longer wait, what rests is cancelled first. */
const LONG_MS = 5_000;

export interface Books {
  account: SavedAccount | null;
  /** Money that each kind of event brought or took, in micro-dollars. */
  byCause: Record<string, number>;
  feesMicros: number;
  /** Kinds of counted events: fills as taker, fills as maker, and so on. */
  counts: Record<string, number>;
  /** Times that events were missed, so that the sums above are not complete. */
  gaps: number;
  isFinished: boolean;
}

/** Signs in, and registers a name that is new. A registration whose answer is lost is looked up. */
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

/** Claims what is won in markets that are resolved. The exchange may have paid it already. */
async function claimWon(api: Api, account: Account): Promise<void> {
  for (const [marketId, outcomes] of account.positions) {
    if (!outcomes.some(({ status }) => status === 'claimable')) continue;
    await claim(api, marketId).catch((error) => {
      // It may have been paid while the bot was not running.
      if (!isRefusal(error, 'nothing_to_claim', 'already_paid')) throw error;
    });
  }
}

/**
 * Whether nothing rests and nothing is owned: neither here nor at the exchange. Receipts and events
 * take different ways: after a lost connection, an order's receipt may come long before the events
 * up to it were sent again. The account also changes while the balance is on its way, so all of it
 * is looked at afterwards.
 */
async function isFlat(api: Api, userId: string, account: Account): Promise<boolean> {
  const { available, held } = await balance(api, userId);
  const { orders, positions, availableMicros, heldMicros } = account;
  if (orders.size > 0 || positions.size > 0) return false;
  return toMicros(available) === availableMicros && toMicros(held) === heldMicros;
}

/** Follows the account and writes every change down before anything else sees it. */
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
    // From the beginning: the first event is the grant of the starting balance.
    books.account ?? { ...EMPTY },
  );
  return { account, books, save };
}

interface Bot extends ReturnType<typeof keepBooks> {
  api: Api;
  stream: Stream;
  userId: string;
}

/** Looks again and again until a SIGTERM, and then until nothing rests and nothing is owned. */
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

/**
 * If the exchange asks for a long wait, the bot cancels what rests and sends nothing until then.
 */
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
    // Prices move meanwhile. Room for the keys of cancels is kept free.
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
