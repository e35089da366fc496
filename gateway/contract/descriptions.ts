/**
 * Descriptions of schemas and fields that mean the same everywhere, so that nothing in the document
 * is left without one. A description next to a field takes precedence.
 */
import type { JsonSchema } from './openapi.js';

/** By field, or by schema and field where the same name means something else. */
const FIELDS: Record<string, string> = {
  userId: 'The id of a user, such as u12',
  orderId: 'The id of an order, such as o12',
  tradeId: 'The id of a trade, such as t12',
  depositId: 'The id of a vault deposit, such as d12',
  tokenId: 'The id of a named token, such as k12',
  marketId: 'The id of a market, such as btc-15m-1763700300',
  vaultId: 'The id of the vault',
  currency: 'The currency of all amounts',
  side: 'Whether shares are bought or sold',
  outcome: 'UP wins if the end price is at least the start price; otherwise DOWN wins',
  resolution: 'The winning outcome; VOID if there was no price to decide by; null until resolved',
  asset: 'The symbol of the asset, such as BTC',
  fills: 'The trades of the order, in order',
  position: 'Your shares of each outcome in this market afterwards',
  keptPriority: 'Whether the order kept its place in the queue',
  cancelledOrders: 'The number of orders that were cancelled',
  username: 'The name of the user',
  token: 'The session token, for the header `x-user-token`',
  referralCode: 'A code that identifies the user who referred another',
  referredUsers: 'The number of users who registered with the code',
  referredBy: 'The user who referred this one; null: nobody',
  password: 'The password',
  currentPassword: 'The password until now',
  newPassword: 'The password from now on; all tokens end',
  averagePrice: 'US dollars per share; null if there are no shares',
  worstPrice: 'US dollars per share of the last trade; null if there is none',
  priceHistory: 'Prices every 5 s, and at both ends of the window',
  assetPrice: 'US dollars: the price of the asset; null before the first one',
  bids: 'Price levels of buyers, the highest price first',
  asks: 'Price levels of sellers, the lowest price first',
  status: 'The state',
  markets: 'The markets',
  orders: 'The orders',
  positions: 'The positions',
  trades: 'The trades',
  deposits: 'The vault deposits',
  vaults: 'The vaults',
  tokens: 'The tokens',
  history: 'The credits, newest first',
  entries: 'The entries, the highest value first',
  points: 'Points, at most 6 decimal places',
  reason: 'Why it happened',
  rank: 'The rank, from 1; null if the user is not ranked',
  metric: 'What the users are ranked by',
  period: 'The time that counts',
  value: 'US dollars: shares times price',
  matchType:
    'transfer: shares changed hands; mint: two buyers paid for a new set; merge: two sellers gave one up',
  role: 'Whether the order arrived (taker) or rested in the book (maker)',
  partner: 'The name of the partner',
  reference: 'The reference of the transfer',
  version: 'The version of the program',
  digest: 'A number over all results and events so far, as 16 hex digits',
  feeRate: 'The part of what a buy spends that is charged on top',
  tickSize: 'US dollars; prices are multiples of it',
  lotSize: 'Shares; sizes are multiples of it',
  operations: 'The operations, executed in this order',
  op: 'What the operation does',
  code: 'The code',
  error: 'What went wrong',
  name: 'The name',
  type: 'What it is',
  title: 'The market in words',
  feeShare:
    'The part of the fees of markets that goes to the vault; a market pays a stake 1/1,000 of it at most',
  id: 'The id',
  'MarketEvents.events': 'The events, oldest first',
  'Ledger.entries': 'The entries, newest first',
  'ErrorBody.code': 'What went wrong, for programs; the list is closed',
  'Leaderboard.value': 'US dollars, or points',
  'Profile.trades': 'The number of trades',
  'Points.reason': 'What the points were credited for',
  'Market.type': 'The length of the window',
  'MarketDetail.type': 'The length of the window',
  'MarketWithHistory.type': 'The length of the window',
  'Vaults.deposits': 'The number of deposits',
  sequence: 'The journal sequence at which this is true',
  atMs: 'The time of the exchange then, in milliseconds since the epoch',
  balance: 'The balance afterwards',
  price: 'US dollars; null before the first price',
  channel: 'The name of the channel',
  channels: 'The names of channels',
  channelSequence: 'The number of the message in its channel',
  after: 'The number of the last message that the client has',
  previousSequence: 'No message of the channel has a number between this one and its own',
  data: 'The state of the channel, or its changes',
  changes: 'What happened to markets, in order',
  change: 'What happened to the market',
  market: 'The market afterwards; null once it is closed',
  observedAtMs: 'When the price was observed, in milliseconds since the epoch',
  events: 'What happened to the account, in order',
  outcomes: 'The positions in the market; empty: none',
  amount: 'US dollars',
  yield: 'US dollars of yield',
  cost: 'US dollars that the shares had cost',
  profit: 'US dollars: what was paid back less the cost',
  automatic: 'Whether the exchange paid without a request',
  source: 'Where it came from',
  earnsFromMs: 'When the deposit starts to earn, in milliseconds since the epoch',
  cancelOnDisconnect: 'Whether the orders of the user are cancelled when the connection ends',
  operation: 'One operation, as in a batch',
  replayed: 'Whether the receipt is that of an earlier request with the same key',
  UP: 'For UP',
  DOWN: 'For DOWN',
};

const SCHEMAS: Record<string, string> = {
  ActiveMarkets: 'The active markets',
  BookEvent: 'A change of a level of a book',
  Balance: 'The money of a user',
  BatchBody: 'Operations to execute in order',
  AmendBody: 'The new terms of an order',
  AmendReceipt: 'What an amendment did',
  BatchReceipt: 'What a batch did',
  BatchOperation: 'An operation of a batch',
  BatchResult: 'The receipt or the error of an operation of a batch',
  BuyOperation: 'A buy',
  SellOperation: 'A sale of shares',
  CancelOperation: 'The cancellation of an order',
  AmendOperation: 'New terms of an order',
  CancelAllOperation: 'The cancellation of all orders',
  ClaimOperation: 'A claim of winnings',
  BuyResult: 'What a buy did',
  SellResult: 'What a sale did',
  CancelResult: 'A cancelled order',
  AmendResult: 'What an amendment did',
  CancelAllResult: 'What cancelling all orders did',
  ClaimResult: 'Claimed winnings',
  ErrorResult: 'Why an operation was refused',
  BuyQuote: 'What a buy would do now',
  SellQuote: 'What a sale would do now',
  BuyReceipt: 'What a buy did',
  CancelAllReceipt: 'What cancelling all orders did',
  CancelOrdersReceipt: 'What cancelling all orders did',
  CancelReceipt: 'A cancelled order',
  ClaimReceipt: 'Claimed winnings',
  CancelAfter: 'When the resting orders of a user are cancelled',
  CancelAfterBody: 'A time after which resting orders are cancelled',
  CreatedToken: 'A new named token',
  ClaimYieldReceipt: 'A deposit whose yield was claimed',
  Digest: 'A batch of the journal',
  Deposits: 'Vault deposits of a user',
  EmptyBody: 'A body that needs no fields',
  ErrorBody: 'An error',
  Health: 'The process is alive',
  Leaderboard: 'Ranked users',
  Ledger: 'The statement of a user',
  Limits: 'What clients must keep to',
  LoginBody: 'The credentials of a user',
  Market: 'A market',
  MarketDetail: 'A market with its price history',
  MarketEvents: 'The events of a market',
  MarketTicks: 'The prices that settle a market',
  MarketTrades: 'The public trades of a market',
  MarketWithHistory: 'A market that has ended, with its price history',
  Markets: 'Markets',
  NewToken: 'A token that replaces older ones',
  Orderbook: 'The order book of a market, as each outcome sees it',
  OrderRecord: 'An order, open or closed',
  Orders: 'The orders of a user',
  OwnReferral: 'The referrals of the signed-in user',
  PartnerUser: 'A user as partners see it',
  PasswordBody: 'A change of password',
  PastMarkets: 'Markets that have ended',
  Points: 'The points of a user',
  Positions: 'The positions of a user',
  PriceEvent: 'A price of the asset of a market',
  Profile: 'The public part of an account',
  Quote: 'What an order would do now',
  Ready: 'The exchange accepts traffic',
  Referral: 'The referrals of a user',
  ReferralCodeBody: 'A new referral code',
  RegisterBody: 'A new account',
  SellBody: 'A sale of shares',
  SellReceipt: 'What a sale did',
  SessionOwner: 'Who is signed in',
  SignedIn: 'A signed-in user and the token',
  StakeBody: 'Money to stake',
  StakeReceipt: 'A new vault deposit',
  Status: 'The progress of the exchange',
  Time: 'The time of the exchange',
  TokenBody: 'A token for a program',
  Tokens: 'The named tokens of a user',
  TradeEvent: 'A trade of a market',
  TransferBody: 'A transfer of a partner',
  TransferReceipt: 'An executed transfer',
  UnstakeReceipt: 'A closed vault deposit',
  UserTrades: 'The trades of a user',
  Vaults: 'The vaults',
};

/**
 * The component with a description at every field.
 * @throws if one is missing
 */
export function described(name: string, schema: JsonSchema): JsonSchema {
  const ofFields = withFields(name, schema);
  if (ofFields.description !== undefined) return ofFields;
  return { ...ofFields, description: found(name, SCHEMAS[name]) };
}

/** The schema with a description at every field that has a known one. */
export function describedWhereKnown(name: string, schema: JsonSchema): JsonSchema {
  return withFields(name, schema, (key, field) => FIELDS[key] ?? FIELDS[field]);
}

/** The description of a field, by its component and name together, or by its name. */
type Find = (key: string, field: string) => string | undefined;

const findOrThrow: Find = (key, field) => found(key, FIELDS[key] ?? FIELDS[field]);

function withFields(component: string, schema: JsonSchema, find = findOrThrow): JsonSchema {
  const copy: JsonSchema = { ...schema };
  if (schema.properties !== undefined) {
    const fields = Object.entries(schema.properties).map(([field, value]) => [
      field,
      // An empty schema only names a field that is described elsewhere.
      isEmpty(value) ? value : withDescription(component, field, value as JsonSchema, find),
    ]);
    copy.properties = Object.fromEntries(fields);
  }
  if (schema.items !== undefined)
    copy.items = withFields(component, schema.items as JsonSchema, find);
  for (const keyword of ['anyOf', 'oneOf'] as const) {
    // Rules across fields contain no fields to describe.
    const options = schema[keyword] as JsonSchema[] | undefined;
    if (options?.some(({ properties, items }) => properties !== undefined || items !== undefined))
      copy[keyword] = options.map((option) => withFields(component, option, find));
  }
  return copy;
}

function isEmpty(schema: object | boolean): boolean {
  return Object.keys(schema).length === 0;
}

function withDescription(
  component: string,
  field: string,
  schema: JsonSchema,
  find: Find,
): JsonSchema {
  const value = withFields(component, schema, find);
  if (value.description !== undefined || value.$ref !== undefined) return value;
  const key = `${component}.${field}`;
  const description = find(key, field);
  return description === undefined ? value : { ...value, description };
}

function found(name: string, description: string | undefined): string {
  if (description === undefined) throw new Error(`${name} has no description`);
  return description;
}
