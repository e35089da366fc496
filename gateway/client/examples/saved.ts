/**
 * The books of an example bot, in a file: the account at a sequence, and what its events add up to.
 *
 * Always holds: the file is replaced as a whole, so a bot that is killed continues where it was,
 * and the exchange sends the events since.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import {
  type Account,
  type Api,
  balance,
  ConnectionError,
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

/** Claims what is won in markets that are resolved. */
export async function claimWon(api: Api, account: Account): Promise<void> {
  for (const [marketId, outcomes] of account.positions) {
    if (!outcomes.some(({ status }) => status === 'claimable')) continue;
    await claim(api, marketId).catch((error) => {
      if (!isRefusal(error, 'nothing_to_claim')) throw error;
    });
  }
}

/**
 * Whether nothing rests and nothing is owned: neither here nor at the exchange. Receipts and events
 * take different ways: after a lost connection, an order's receipt may come long before the events
 * up to it were sent again. The account also changes while the balance is on its way, so all of it
 * is looked at afterwards.
 */
export async function isFlat(api: Api, userId: string, account: Account): Promise<boolean> {
  const { available, held } = await balance(api, userId);
  const { orders, positions, availableMicros, heldMicros } = account;
  if (orders.size > 0 || positions.size > 0) return false;
  return toMicros(available) === availableMicros && toMicros(held) === heldMicros;
}

/** Follows the account and writes every change down before anything else sees it. */
export function keepBooks(stream: Stream, path: string) {
  const books = read(path);
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
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    const sums = { byCause: {}, feesMicros: 0, counts: {}, gaps: 0 };
    return { account: null, ...sums, isFinished: false };
  }
}
