/**
 * The API's routes, each a function of the API, its ids, its query or body, and the call's options.
 * Changes need a token and have an idempotency key, unless a comment says otherwise. The user id
 * `me` means the token's owner.
 *
 * Types of answers are derived from the exchange's schemas, which the compiled client lacks.
 */
import type { z } from 'zod';
import type * as accountHistory from '../resources/account-history/views.js';
import type * as accounts from '../resources/accounts/views.js';
import type * as batches from '../resources/batch/schemas.js';
import type * as cancelAfters from '../resources/cancel-after/routes.js';
import type * as dayFileRoutes from '../resources/day-files/routes.js';
import type * as candles from '../resources/history/candles.js';
import type * as history from '../resources/history/views.js';
import type * as eventRoutes from '../resources/market-events/routes.js';
import type * as marketSchemas from '../resources/markets/schemas.js';
import type * as groupRoutes from '../resources/order-groups/routes.js';
import type * as orderSchemas from '../resources/orders/schemas.js';
import type * as partners from '../resources/partners/routes.js';
import type * as signIn from '../resources/sign-in/routes.js';
import type * as tokenRoutes from '../resources/sign-in/tokens.js';
import type { Limits as LimitsBody } from '../resources/status/limits.js';
import type * as statuses from '../resources/status/routes.js';
import type * as subAccountRoutes from '../resources/sub-accounts/routes.js';
import type * as vault from '../resources/vault/receipts.js';
import type { Amount } from './amounts.js';
import type { Answer } from './answer.js';
import {
  type Api,
  type CallOptions,
  type CsvPage,
  get,
  path,
  post,
  put,
  remove,
  route,
} from './api.js';
import type { AccountFilter, OutcomeName, Paging } from './terms.js';

// Markets: public.

export type MarketStatus = 'upcoming' | 'active' | 'ended' | 'resolved';
export type Market = Answer<typeof marketSchemas.Market>;
export type MarketWithHistory = Answer<typeof marketSchemas.MarketWithHistory>;
export type MarketDetail = Answer<typeof marketSchemas.MarketDetail>;
export type Markets = Answer<typeof marketSchemas.Markets>;
export type ActiveMarkets = Answer<typeof marketSchemas.ActiveMarkets>;
export type DayFiles = Answer<typeof dayFileRoutes.DayFiles>;
export type Orderbook = Answer<typeof marketSchemas.Orderbook>;
export type BuyQuote = Answer<typeof marketSchemas.BuyQuote>;
export type SellQuote = Answer<typeof marketSchemas.SellQuote>;
export type PastMarkets = Answer<typeof history.PastMarkets>;
export type MarketTrades = Answer<typeof history.MarketTrades>;
export type MarketCandles = Answer<typeof candles.MarketCandles>;
export type AssetCandles = Answer<typeof candles.AssetCandles>;
export type MarketEvents = Answer<typeof eventRoutes.MarketEvents>;
export type MarketEvent = MarketEvents['events'][number];
export type MarketTicks = Answer<typeof eventRoutes.MarketTicks>;

type Candles = Paging & Times & { interval?: '5s' | '1m' | undefined };
type OfAsset = { asset?: string | undefined };
type Times = Pick<AccountFilter, 'fromMs' | 'toMs'>;

/** All markets, newest first. */
export const markets = route((query?: Paging & OfAsset & { status?: MarketStatus | undefined }) =>
  get<Markets>('/markets', query),
);
export const market = route((marketId: string) => get<MarketDetail>(path`/markets/${marketId}`));
/** The markets trading now, with the exchange's time. */
export const activeMarkets = route((query?: OfAsset) => get<ActiveMarkets>('/markets/15m', query));
/** Ended markets, newest first. `fromMs` and `toMs` refer to a market's start. */
export const pastMarkets = route(
  (query?: Paging & OfAsset & Times & { priceHistory?: 'on' | 'off' | undefined }) =>
    get<PastMarkets>('/markets/15m/history', query),
);
/** `depth`: price levels on each side, 1 to 999, default 20. */
export const orderbook = route((marketId: string, query?: { depth?: number | undefined }) =>
  get<Orderbook>(path`/markets/15m/${marketId}/orderbook`, query),
);
export const buyQuote = route(
  (marketId: string, order: { outcome: OutcomeName; amount: Amount; price?: Amount | undefined }) =>
    get<BuyQuote>(path`/markets/15m/${marketId}/quote`, { side: 'BUY', ...order }),
);
export const sellQuote = route(
  (marketId: string, order: { outcome: OutcomeName; shares: Amount; price?: Amount | undefined }) =>
    get<SellQuote>(path`/markets/15m/${marketId}/quote`, { side: 'SELL', ...order }),
);
/** A market's trades, newest first. The time range includes both ends. */
export const marketTrades = route((marketId: string, query?: Paging & Times) =>
  get<MarketTrades>(path`/markets/15m/${marketId}/trades`, query),
);
/** Every interval of a market, newest first. `fromMs` and `toMs` refer to its beginning. */
export const marketCandles = route((marketId: string, query?: Candles) =>
  get<MarketCandles>(path`/markets/15m/${marketId}/candles`, query),
);
/** Every interval of an asset, with the trades of all its markets, newest first. */
export const assetCandles = route((asset: string, query?: Candles) =>
  get<AssetCandles>(path`/assets/${asset}/candles`, query),
);
/** A resolved market's events, oldest first. */
export const marketEvents = route((marketId: string, paging?: Paging) =>
  get<MarketEvents>(path`/markets/15m/${marketId}/events`, paging),
);
/** The prices whose averages are the start price and the end price. */
export const marketTicks = route((marketId: string) =>
  get<MarketTicks>(path`/markets/15m/${marketId}/ticks`),
);
/** Files with all events of an asset on a UTC day: gzipped lines of JSON at `path`. */
export const dayFiles = route((query?: OfAsset) => get<DayFiles>('/history', query));

// Orders, complete sets, claims, batches: all need a token.

export type TimeInForce = 'IOC' | 'FOK' | 'GTC';
export type SelfTradeName = 'cancel_resting' | 'cancel_taker' | 'cancel_both';
export type BuyReceipt = Answer<typeof orderSchemas.BuyReceipt>;
export type SellReceipt = Answer<typeof orderSchemas.SellReceipt>;
export type CancelReceipt = Answer<typeof orderSchemas.CancelReceipt>;
export type CancelAfter = Answer<typeof cancelAfters.CancelAfter>;
export type CancelAllReceipt = Answer<typeof orderSchemas.CancelAllReceipt>;
export type CancelOrdersReceipt = Answer<typeof orderSchemas.CancelOrdersReceipt>;
export type AmendReceipt = Answer<typeof orderSchemas.AmendReceipt>;
export type ClaimReceipt = Answer<typeof orderSchemas.ClaimReceipt>;
export type SplitReceipt = Answer<typeof orderSchemas.SplitReceipt>;
export type MergeReceipt = Answer<typeof orderSchemas.MergeReceipt>;
export type OrderGroupTerms = Answer<typeof groupRoutes.OrderGroupTerms>;
export type OrderGroups = Answer<typeof groupRoutes.OrderGroups>;
export type RemovedOrderGroup = Answer<typeof groupRoutes.RemovedOrderGroup>;
export type Order = Answer<typeof accountHistory.ListedOrder>;
export type OrderRecord = Answer<typeof accountHistory.OrderRecord>;
export type Orders = Answer<typeof accountHistory.Orders>;
export type BatchReceipt = Answer<typeof batches.BatchReceipt>;

export interface OrderTerms {
  outcome: OutcomeName;
  /** Default: IOC. */
  timeInForce?: TimeInForce | undefined;
  /** With GTC: refuses the order if it would trade immediately. */
  postOnly?: boolean | undefined;
  /** Refuses the order if it would be executed later than this. */
  validUntilMs?: number | undefined;
  /** With GTC: cancels the resting part at this time. */
  expiresAtMs?: number | undefined;
  /** What to do if the order would trade with your own order. Default: cancel_resting. */
  selfTrade?: SelfTradeName | undefined;
  /** With GTC: the order's group. */
  groupId?: string | undefined;
  /** Your own name for the order: 1 to 64 of A-Z a-z 0-9 _ - : . */
  clientOrderId?: string | undefined;
}

/** Either dollars to spend, or shares with a price. `price` is the worst acceptable price. */
export type BuyOrder = OrderTerms &
  ({ amount: Amount; price?: Amount | undefined } | { shares: Amount; price: Amount });
export type SellOrder = OrderTerms & { shares: Amount; price?: Amount | undefined };

/** New terms of a resting order. `shares` is the total size, including filled shares. */
export interface Amendment {
  shares?: Amount | undefined;
  price?: Amount | undefined;
}

/** An orderId, or your own name for the order. */
export type OrderName = string | { clientOrderId: string };

export type Operation =
  | ({ op: 'buy'; marketId: string } & BuyOrder)
  | ({ op: 'sell'; marketId: string } & SellOrder)
  | { op: 'cancel'; marketId: string; orderId: string }
  | { op: 'cancel'; marketId: string; clientOrderId: string }
  | ({ op: 'amend'; marketId: string; orderId: string } & Amendment)
  | { op: 'cancelAll'; marketId?: string | undefined }
  | { op: 'claim'; marketId: string }
  | { op: 'split' | 'merge'; marketId: string; shares: Amount };

export const buy = route((marketId: string, order: BuyOrder) =>
  post<BuyReceipt>(path`/markets/15m/${marketId}/buy`, order),
);
export const sell = route((marketId: string, order: SellOrder) =>
  post<SellReceipt>(path`/markets/15m/${marketId}/sell`, order),
);
/** Turns dollars into `shares` of UP and of DOWN. A complete set costs a dollar plus the fee. */
export const split = route((marketId: string, shares: Amount) =>
  post<SplitReceipt>(path`/markets/15m/${marketId}/split`, { shares }),
);
/** Turns `shares` of UP and of DOWN into dollars, one dollar per complete set. */
export const merge = route((marketId: string, shares: Amount) =>
  post<MergeReceipt>(path`/markets/15m/${marketId}/merge`, { shares }),
);
/** Collects what a resolved market owes you. */
export const claim = route((marketId: string) =>
  post<ClaimReceipt>(path`/markets/15m/${marketId}/claim`),
);
export const cancel = route((marketId: string, order: OrderName) =>
  remove<CancelReceipt>(...placeOf(marketId, order)),
);
/** Cancels all your resting orders in a market. */
export const cancelAll = route((marketId: string) =>
  remove<CancelAllReceipt>(path`/markets/15m/${marketId}/orders`),
);
/** Cancels all your resting orders, in all markets or in one market. */
export const cancelEverywhere = route((userId: string, only?: { marketId?: string }) =>
  remove<CancelOrdersReceipt>(path`/users/${userId}/orders`, only),
);
/** Changes a resting order's size or price. */
export const amend = route((marketId: string, order: OrderName, body: Amendment) => {
  const [ofOrder, query] = placeOf(marketId, order);
  return { ...post<AmendReceipt>(ofOrder, body), method: 'PATCH', query };
});

function placeOf(marketId: string, order: OrderName): [path: string, query?: object] {
  return typeof order === 'string'
    ? [path`/markets/15m/${marketId}/orders/${order}`]
    : [path`/markets/15m/${marketId}/orders/by-client-id`, order];
}

/** `clientOrderId` selects at most one order, open or closed. */
type OrdersFilter = AccountFilter & {
  status?: 'open' | 'closed' | 'all' | undefined;
  clientOrderId?: string | undefined;
};

/** Your orders, newest first. Without a filter: your resting orders, oldest first. */
export const orders = route((userId: string, query?: Paging & OrdersFilter) =>
  get<Orders>(path`/users/${userId}/orders`, query),
);
export const order = route((userId: string, orderId: string) =>
  get<OrderRecord>(path`/users/${userId}/orders/${orderId}`),
);
/** Cancels all your resting orders in `timeoutMs`, unless called again before. 0 turns it off. */
export const cancelAfter = route((userId: string, timeoutMs: number) =>
  put<CancelAfter>(path`/users/${userId}/cancel-after`, { timeoutMs }),
);
/**
 * Creates an order group. Once its orders have filled `maxFilledShares` within `windowMs` of the
 * first of these fills, the exchange cancels its other orders and refuses new ones until a reset.
 */
export const createOrderGroup = route(
  (userId: string, terms: { maxFilledShares: Amount; windowMs: number }) =>
    post<OrderGroupTerms>(path`/users/${userId}/order-groups`, terms),
);
export const orderGroups = route((userId: string) =>
  get<OrderGroups>(path`/users/${userId}/order-groups`),
);
export const resetOrderGroup = route((userId: string, groupId: string) =>
  post<OrderGroupTerms>(path`/users/${userId}/order-groups/${groupId}/reset`),
);
/** Removes the group and cancels its orders. */
export const removeOrderGroup = route((userId: string, groupId: string) =>
  remove<RemovedOrderGroup>(path`/users/${userId}/order-groups/${groupId}`),
);

/** Executes up to 100 operations in order without interruption. `atomic`: all or none. */
export function batch(
  api: Api,
  operations: readonly Operation[],
  options?: CallOptions & { atomic?: boolean },
): Promise<BatchReceipt> {
  const body = { operations, ...(options?.atomic === true ? { atomic: true } : {}) };
  return api.call({ ...post<BatchReceipt>('/batch', body), options });
}

// Accounts and the leaderboard. Balance, statement, points and changes need a token.

export type UserTrade = Answer<typeof history.UserTrade>;
export type UserTrades = Answer<typeof history.UserTrades>;
export type Points = Answer<typeof history.Points>;
export type Leaderboard = Answer<typeof history.Leaderboard>;
export type Ledger = Answer<typeof accountHistory.Ledger>;
export type Profile = Answer<typeof accounts.Profile>;
export type Balance = Answer<typeof accounts.Balance>;
export type Position = Answer<typeof accounts.Position>;
export type Positions = Answer<typeof accounts.Positions>;
export type AutoClaim = Answer<typeof accounts.AutoClaim>;
export type StartedAgain = Answer<typeof accounts.StartedAgain>;
export type Privacy = Answer<typeof accounts.Privacy>;
export type Referral = Answer<typeof accounts.Referral>;
export type OwnReferral = Answer<typeof accounts.OwnReferral>;

export interface LedgerFilter extends AccountFilter {
  cause?: Ledger['entries'][number]['cause'] | undefined;
}

type PositionsFilter = { marketId?: string | undefined; status?: Position['status'] | undefined };
type Board = {
  metric?: Leaderboard['metric'] | undefined;
  period?: Leaderboard['period'] | undefined;
};

export const profile = route((userId: string) => get<Profile>(path`/users/${userId}`));
export const balance = route((userId: string) => get<Balance>(path`/users/${userId}/balance`));
/** Open and claimable positions, newest market first. */
export const positions = route((userId: string, query?: Paging & PositionsFilter) =>
  get<Positions>(path`/users/${userId}/positions`, query),
);
/** A user's trades, newest first. `orderId` selects the trades of one order. */
export const userTrades = route(
  (userId: string, query?: Paging & AccountFilter & { orderId?: string | undefined }) =>
    get<UserTrades>(path`/users/${userId}/trades`, query),
);
/** Every change of your money and shares, newest first. */
export const ledger = route((userId: string, query?: Paging & LedgerFilter) =>
  get<Ledger>(path`/users/${userId}/ledger`, query),
);
/** {@link ledger} as CSV, for a spreadsheet. */
export const ledgerCsv = route((userId: string, query?: Paging & LedgerFilter) => ({
  ...get<CsvPage>(path`/users/${userId}/ledger`, query),
  asCsv: true,
}));
export const points = route((userId: string, paging?: Paging) =>
  get<Points>(path`/users/${userId}/points`, paging),
);
/** A user's referral data. Includes earnings only for your own account. */
export const referral = route((userId: string) => get<Referral>(path`/users/${userId}/referral`));
/** What others can read of your account. Default: everything except money and orders. */
export const privacy = route((userId: string) => get<Privacy>(path`/users/${userId}/privacy`));
/** `listed`: leaderboards list the private account, with figures of the last full UTC day. */
export const setPrivacy = route(
  (userId: string, body: { private: boolean; listed?: boolean | undefined }) =>
    put<Privacy>(path`/users/${userId}/privacy`, body),
);
/** Whether a market's settlement pays you without a claim. */
export const autoClaim = route((userId: string) =>
  get<AutoClaim>(path`/users/${userId}/auto-claim`),
);
/** Applies to markets settled later. Claim earlier ones yourself. */
export const setAutoClaim = route((userId: string, enabled: boolean) =>
  put<AutoClaim>(path`/users/${userId}/auto-claim`, { enabled }),
);
/** Gives the starting balance of play money again, once a day, to an account with little left. */
export const startAgain = route((userId: string) =>
  post<StartedAgain>(path`/users/${userId}/start-again`, {}),
);
/** Sets a new referral code. The old code still refers to you. */
export const setReferralCode = route((userId: string, code: string) =>
  put<OwnReferral>(path`/users/${userId}/referral/code`, { code }),
);
export const leaderboard = route((query?: Paging & Board) =>
  get<Leaderboard>('/leaderboard', query),
);

// Sub-accounts, for a token from their parent's sign-in. Each has its own user id: a client with a
// sub-account's token uses it like any other account.

export type SubAccount = Answer<typeof subAccountRoutes.SubAccount>;
export type SubAccounts = Answer<typeof subAccountRoutes.SubAccounts>;
export type MoneyTransfer = Answer<typeof subAccountRoutes.MoneyTransfer>;

/** Creates a sub-account, at most 32. */
export const createSubAccount = route((userId: string, username: string) =>
  post<SubAccount>(path`/users/${userId}/sub-accounts`, { username }),
);
/** All sub-accounts with their balances, oldest first, and the total. */
export const subAccounts = route((userId: string) =>
  get<SubAccounts>(path`/users/${userId}/sub-accounts`),
);
/** Moves available money between your account and a sub-account, or between two sub-accounts. */
export const transfer = route(
  (userId: string, body: { from: string; to: string; amount: Amount }) =>
    post<MoneyTransfer>(path`/users/${userId}/transfers`, body),
);
/** Creates a sub-account's named token. Only this answer contains it. Has no key. */
export const createSubAccountToken = route(
  (userId: string, subAccountId: string, terms: TokenTerms) =>
    post<CreatedToken>(path`/users/${userId}/sub-accounts/${subAccountId}/tokens`, terms, 'never'),
);
export const subAccountTokens = route((userId: string, subAccountId: string) =>
  get<Tokens>(path`/users/${userId}/sub-accounts/${subAccountId}/tokens`),
);

// The flex vault.

export type Vaults = Answer<typeof vault.Vaults>;
export type Deposit = Answer<typeof vault.Deposit>;
export type Deposits = Answer<typeof vault.Deposits>;
export type StakeReceipt = Answer<typeof vault.StakeReceipt>;
export type UnstakeReceipt = Answer<typeof vault.UnstakeReceipt>;
export type ClaimYieldReceipt = Answer<typeof vault.ClaimYieldReceipt>;

export const vaults = route(() => get<Vaults>('/vaults'));
export const stake = route((amount: Amount) =>
  post<StakeReceipt>('/vaults/flex/stake', { amount }),
);
export const unstake = route((depositId: string) =>
  post<UnstakeReceipt>(path`/vaults/deposits/${depositId}/unstake`),
);
export const claimYield = route((depositId: string) =>
  post<ClaimYieldReceipt>(path`/vaults/deposits/${depositId}/claim`),
);
export const deposits = route((userId: string, paging?: Paging) =>
  get<Deposits>(path`/users/${userId}/vaults`, paging),
);

// Signing in. Answers contain the token and, in a browser, set the cookie. Elsewhere, assign the
// token to `api.token`. These routes have no keys: a registration or a new password is not sent
// again if it may have been executed.

export type SignedIn = Answer<typeof signIn.SignedIn>;
export type NewToken = Answer<typeof signIn.NewToken>;
export type TokenTerms = Omit<z.input<typeof tokenRoutes.TokenBody>, 'userId'>;
export type CreatedToken = Answer<typeof tokenRoutes.CreatedToken>;
export type Tokens = Answer<typeof tokenRoutes.Tokens>;
export type SessionOwner = Answer<typeof signIn.SessionOwner>;

export interface Credentials {
  username: string;
  password: string;
}

export const register = route((account: Credentials & { referralCode?: string | undefined }) =>
  post<SignedIn>('/auth/register', account, 'never'),
);
export const login = route(({ username, password }: Credentials) =>
  post<SignedIn>('/auth/login', { username, password }, 'harmless'),
);
/** Sets a new password with a single-use code from the operator. */
export const recover = route((account: { username: string; code: string; newPassword: string }) =>
  post<SignedIn>('/auth/recovery', account, 'never'),
);
/** Clears the cookie. The token stays valid. */
export const logout = route(() => post<void>('/auth/logout', {}, 'harmless'));
/** Changes the password and ends all older tokens. */
export const changePassword = route((passwords: { currentPassword: string; newPassword: string }) =>
  put<NewToken>('/auth/password', passwords, 'never'),
);
export const session = route(() => get<SessionOwner>('/auth/session'));
/** Creates a named token for a program. Only this answer contains the token. */
export const createToken = route((terms: TokenTerms) =>
  post<CreatedToken>('/auth/tokens', terms, 'never'),
);
/** Your named tokens, oldest first. */
export const tokens = route(() => get<Tokens>('/auth/tokens'));
/** Ends a named token and its streams. After a lost answer, repeating fails: `token_not_found`. */
export const revokeToken = route((tokenId: string) =>
  remove<void>(path`/auth/tokens/${tokenId}`, {}, 'harmless'),
);

// Partners, who need `partnerKey`. A transfer is executed once per reference: repeating it returns
// the first answer.

export type TransferReceipt = Answer<typeof partners.TransferReceipt>;
export type PartnerUser = Answer<typeof partners.PartnerUser>;

export interface Transfer {
  userId: string;
  amount: Amount;
  /** 1 to 64 of A-Z a-z 0-9 _ - : . */
  reference: string;
}

export const partnerDeposit = route((transfer: Transfer) =>
  post<TransferReceipt>('/partner/deposits', transfer, 'harmless'),
);
export const partnerWithdrawal = route((transfer: Transfer) =>
  post<TransferReceipt>('/partner/withdrawals', transfer, 'harmless'),
);
export const partnerUser = route((userId: string) =>
  get<PartnerUser>(path`/partner/users/${userId}`),
);

// The time, the limits, and the state of the exchange: public.

export type Digest = Answer<typeof eventRoutes.Digest>;
export type Status = Answer<typeof statuses.Status>;
export type Time = Answer<typeof statuses.Time>;
export type Limits = Answer<typeof LimitsBody>;

export const time = route(() => get<Time>('/time'));
/** Fees, sizes, maximums and rate limits. */
export const limits = route(() => get<Limits>('/limits'));
export const status = route(() => get<Status>('/status'));
/** The hash of the journal batch that contains a sequence, such as a receipt's. */
export const digest = route((sequence: number) => get<Digest>('/digest', { sequence }));
/** Metrics in Prometheus' text format. Fails with 404 if operators have their own address. */
export const metrics = route(() => ({ ...get<string>('/metrics'), asText: true }));
