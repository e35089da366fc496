/**
 * The Quarter-Hour Exchange for ccxt 4.5.84 and later (npm install ccxt), as a prediction exchange:
 * a market has two outcomes, and methods take the handle of an outcome, such as
 * "BTC_15M_1763700300:UP". Node.js 22.18 and later run this file unchanged.
 *
 *   const exchange = new QuarterHour({ apiKey: token, url: 'http://127.0.0.1:3000' });
 *
 * Invariant: all attempts of a change have the same idempotency key, which the exchange remembers
 * for an hour. An error of a change has the key as `idempotencyKey`. After a RequestTimeout, or a
 * NetworkError that is not one of its subclasses, the change may have been executed: call again
 * with { idempotencyKey } in the params. After any other error, it was not executed.
 *
 * Amounts and prices are sent as exact text and computed with Precise. Money is US dollars,
 * including the volume of candles.
 */

import type { Dict, Int, Num, Str, Strings } from 'ccxt';
import * as ccxt from 'ccxt';

/** An object of the exchange's API. */
// biome-ignore lint/suspicious/noExplicitAny: ccxt's own type of such objects
type Raw = Record<string, any>;

const OUTCOMES = ['UP', 'DOWN'];
const PAGE = 200;
const BATCH = 100;
/** Limits that mean "at any price". */
const ANY_PRICE: Raw = { BUY: '0.999', SELL: '0.001' };
const STATUSES: Raw = {
  resting: 'open',
  filled: 'closed',
  partially_filled: 'canceled',
  cancelled: 'canceled',
  expired: 'expired',
};

const METHODS = `cancelAllOrders cancelOrder cancelOrders createLimitOrder createMarketOrder
  createMarketBuyOrderWithCost createOrder editOrder fetchBalance fetchClosedOrders fetchMarkets
  fetchMyTrades fetchOHLCV fetchOpenOrders fetchOrder fetchOrderBook fetchOrders fetchOutcome
  fetchPositions fetchTicker fetchTickers fetchTime fetchTrades watchOrderBook watchOrders`.split(
  /\s+/,
);
/** The exchange's error codes by ccxt error class. */
const ERRORS = {
  BadRequest: 'invalid_request idempotency_key_reused',
  BadSymbol: 'market_not_found',
  InvalidOrder: 'amount_too_small too_small_to_rest deadline_passed order_group_tripped',
  OrderNotFillable: 'insufficient_liquidity price_not_met',
  OrderImmediatelyFillable: 'post_only_would_trade',
  DuplicateOrderId: 'client_order_id_reused',
  OrderNotFound: 'order_not_found order_closed',
  InsufficientFunds: 'insufficient_balance insufficient_shares',
  MarketClosed: 'market_not_active market_paused',
  OperationRejected: 'limit_reached',
  AuthenticationError: 'missing_token invalid_token token_revoked token_expired',
  PermissionDenied: 'user_mismatch scope_insufficient address_not_allowed',
  AccountSuspended: 'user_frozen',
  RateLimitExceeded: 'rate_limited idempotency_full',
  ExchangeNotAvailable: 'unavailable history_unavailable',
  RequestTimeout: 'outcome_unknown',
};
const UNKNOWN = ['NetworkError', 'RequestTimeout'];
/** Refusals before the key is looked up: an earlier attempt may have been executed. */
const SILENT = [
  'AuthenticationError',
  'PermissionDenied',
  'OperationRejected',
  'RateLimitExceeded',
  'ExchangeNotAvailable',
];

const marketHandle = (marketId: string) => marketId.toUpperCase().replaceAll('-', '_');
const idOf = (handle: string) => handle.toLowerCase().replaceAll('_', '-');

/** The fields that name an outcome in every structure. */
function identity(marketId: string, label: string) {
  const market = marketHandle(marketId);
  return { outcome: `${market}:${label}`, outcomeId: `${marketId}-${label}`, label, market };
}

const mirrored = (price: Str) => ccxt.Precise.stringSub('1', price);

export class QuarterHour extends ccxt.PredictionExchange {
  /** Keys of changes that may have been executed. */
  private readonly unknownKeys = new Set<string>();
  /** By stream channel. */
  private places: Record<string, number> = {};
  /** Of an incomplete message. */
  private parts: string[] = [];
  /** By id, as the stream reports them. */
  private openOrders: Record<string, Raw> = {};
  /** Orders that ended while messages were lost, by id: the sequence from which reads show it. */
  private readonly endedOrders = new Map<string, number>();
  /** Not yet returned by watchOrders, by id. */
  private readonly changedOrders = new Map<string, ccxt.PredictionOrder>();

  override describe() {
    return this.deepExtend(super.describe(), {
      id: 'quarterhour',
      name: 'Quarter-Hour Exchange',
      rateLimit: 10,
      pro: true,
      url: 'http://127.0.0.1:3000',
      requiredCredentials: { apiKey: true, secret: false },
      timeframes: { '5s': '5s', '1m': '1m' },
      options: { loadAllOutcomes: true },
      has: Object.fromEntries(METHODS.map((name) => [name, true])),
      exceptions: {
        exact: Object.fromEntries(
          Object.entries(ERRORS).flatMap(([name, codes]) =>
            codes.split(' ').map((code) => [code, (ccxt as Raw)[name]]),
          ),
        ),
      },
    });
  }

  // Requests.

  override sign(
    path: string,
    api = 'public',
    method = 'GET',
    params: Dict = {},
    headers: Dict = {},
    body?: Str,
  ) {
    const signed = { ...headers };
    if (api === 'private') {
      this.checkRequiredCredentials();
      signed['x-user-token'] = this.apiKey;
    }
    const given = Object.entries(params).filter(([, value]) => value !== undefined);
    const fields = Object.fromEntries(given);
    const url = `${this['url']}/api/${path}`;
    if (method === 'POST' || method === 'PATCH') {
      signed['content-type'] = 'application/json';
      return { url, method, headers: signed, body: this.json(fields) };
    }
    const query = given.length === 0 ? '' : `?${this.urlencode(fields)}`;
    return { url: url + query, method, headers: signed, body };
  }

  private read(path: string, query: Raw = {}, api = 'private'): Promise<Raw> {
    return this.request(path, api, 'GET', query);
  }

  private change(method: string, path: string, params: Raw): Promise<Raw> {
    const { idempotencyKey = this.uuid(), ...fields } = params;
    return this.request(path, 'private', method, fields, { 'idempotency-key': idempotencyKey });
  }

  /** Adds the key to a change's error. If the answer cannot be read, it is a RequestTimeout. */
  override async fetch(url: string, method = 'GET', headers?: Dict, body?: Str) {
    const key: string | undefined = headers?.['idempotency-key'];
    if (key === undefined) return super.fetch(url, method, headers, body);
    try {
      const answer = await super.fetch(url, method, headers, body);
      if (!this.isDictionary(answer)) throw new TypeError(`the answer is not an object: ${answer}`);
      this.unknownKeys.delete(key);
      return answer;
    } catch (caught) {
      const isKnown = caught instanceof ccxt.BaseError;
      const error = isKnown ? caught : new ccxt.RequestTimeout(`${this.id} ${url} ${caught}`);
      if (UNKNOWN.includes(error.name)) this.unknownKeys.add(key);
      const isSilent = SILENT.includes(error.name) && this.unknownKeys.has(key);
      const thrown = isSilent ? new ccxt.RequestTimeout(error.message) : error;
      if (!UNKNOWN.includes(thrown.name)) this.unknownKeys.delete(key);
      throw Object.assign(thrown, { idempotencyKey: key });
    }
  }

  override handleErrors(
    status: number,
    _reason: string,
    _url: string,
    method: string,
    _headers: Dict,
    body: string,
    response: Raw | undefined,
  ): undefined {
    if (status < 400) return;
    const error = response?.['error'];
    if (error?.code !== undefined) throw this.refusal(error);
    // A proxy sent this answer. It does not know whether the change was executed.
    if (method !== 'GET' && (status >= 500 || !(status in this.httpExceptions)))
      throw new ccxt.RequestTimeout(`${this.id} ${status} ${body}`);
  }

  private refusal({ code, message, details }: Raw): Error {
    const text = `${this.id} ${code}: ${message} ${this.json(details ?? {})}`;
    // An earlier attempt was executed; its answer can be read later.
    if (details?.['executed'] === true) return new ccxt.RequestTimeout(text);
    const known = this.exceptions['exact'][code];
    return known === undefined ? new ccxt.ExchangeError(text) : new known(text);
  }

  /** Newest first: with `since`, all entries since then; otherwise `limit` entries or one page. */
  private async pages(
    path: string,
    field: string,
    query: Raw,
    { since, limit }: { since?: Int; limit?: Int },
    isWanted: (entry: Raw) => boolean = () => true,
  ): Promise<Raw[]> {
    const most = since === undefined ? (limit ?? PAGE) : Number.POSITIVE_INFINITY;
    const found: Raw[] = [];
    let cursor: Str;
    do {
      const page = { ...query, fromMs: since, limit: Math.min(most, PAGE), cursor };
      const answer = await this.read(path, page, path.startsWith('users') ? 'private' : 'public');
      found.push(...answer[field].filter(isWanted));
      cursor = answer['nextCursor'] ?? undefined;
    } while (cursor !== undefined && found.length < most);
    return found;
  }

  // Markets.

  override async fetchTime(): Promise<Int> {
    return this.safeInteger(await this.read('time', {}, 'public'), 'nowMs');
  }

  /** Active and upcoming markets, of all assets or of `asset`. */
  override async fetchMarkets(params: Dict = {}): Promise<ccxt.Market[]> {
    this.options['limits'] = await this.read('limits', {}, 'public');
    return (await this.rawMarkets(params)).map((market) => this.parseMarket(market));
  }

  private async rawMarkets(params: Dict): Promise<Raw[]> {
    const all = { limit: Number.POSITIVE_INFINITY };
    const lists = ['active', 'upcoming'].map((status) =>
      this.pages('markets', 'markets', { status, ...params }, all),
    );
    return (await Promise.all(lists)).flat();
  }

  /** Fetches an outcome that is not cached, such as a new or past market's. */
  override async fetchOutcome(outcome: string) {
    const [, market, label] = /^(\w+):(UP|DOWN)$/.exec(outcome) ?? [];
    const [, id = market && idOf(market), labelOfId = label] =
      /^([\w-]+)-(UP|DOWN)$/.exec(outcome) ?? [];
    if (id === undefined || labelOfId === undefined)
      throw new ccxt.BadSymbol(`${this.id} has no outcome ${outcome}`);
    const parsed = this.parseMarket(await this.read(`markets/${id}`, {}, 'public'));
    this.markets = { ...this.markets, [marketHandle(id)]: parsed };
    this.indexMarketOutcomes(parsed);
    return this.outcome(identity(id, labelOfId).outcome);
  }

  /** Fetches the outcome if it is not cached. Adds its market's id. */
  private async found(outcome: Str) {
    const known = await this.loadOutcome(outcome);
    return { ...known, marketId: idOf(known.market) } as Raw;
  }

  override parseMarket(market: Raw): ccxt.Market {
    const id = market['id'];
    const isResolved = market['status'] === 'resolved';
    const active = ['active', 'upcoming'].includes(market['status']) && !market['paused'];
    const precision = {
      amount: this.safeNumber(market, 'lotSize'),
      price: this.safeNumber(market, 'tickSize'),
    };
    const { maxima, restingOrderValue } = this.safeDict(this.options, 'limits', {});
    const outcomes = OUTCOMES.map((label) => {
      const settleFraction = isResolved ? this.safeNumber(market['prices'], label) : undefined;
      const winner = isResolved ? market['resolution'] === label : undefined;
      return { ...identity(id, label), marketId: id, active, winner, settleFraction, precision };
    });
    const endsAtMs = this.safeInteger(market, 'endsAtMs');
    const parsed = {
      id,
      market: marketHandle(id),
      title: market['title'],
      base: market['asset'],
      baseId: market['asset'],
      quote: 'USD',
      quoteId: 'USD',
      underlying: market['asset'],
      collateral: 'USD',
      type: 'prediction',
      marketType: 'binary',
      executionModel: 'clob',
      prediction: true,
      active,
      closed: !['active', 'upcoming'].includes(market['status']),
      resolved: isResolved,
      resolvedOutcome: outcomes.find(({ winner }) => winner === true)?.outcome,
      floorStrike: this.safeNumber(market, 'startPrice'),
      strikeType: 'greater_or_equal',
      settlementValue: this.safeNumber(market, 'endPrice'),
      created: this.safeInteger(market, 'startsAtMs'),
      createdDatetime: this.iso8601(this.safeInteger(market, 'startsAtMs')),
      end: endsAtMs,
      endDatetime: this.iso8601(endsAtMs),
      expiry: endsAtMs,
      expiryDatetime: this.iso8601(endsAtMs),
      volume: this.safeNumber(market, 'volume'),
      openInterest: this.safeNumber(market, 'openInterest'),
      tickSize: precision.price,
      // The curve costs curveFeeRate × (1 − price) of the value, so at most its rate.
      taker: this.sum(this.safeNumber(market, 'feeRate'), this.safeNumber(market, 'curveFeeRate')),
      maker: this.safeNumber(market, 'makerFeeRate'),
      percentage: true,
      tierBased: false,
      precision,
      limits: {
        amount: { min: precision.amount, max: this.safeNumber(maxima, 'orderShares') },
        price: { min: precision.price, max: this.parseNumber(ANY_PRICE['BUY']) },
        // The minimum applies to resting orders only; an IOC or FOK order may be worth less.
        cost: {
          min: this.parseNumber(restingOrderValue),
          max: this.safeNumber(maxima, 'orderAmount'),
        },
      },
      outcomes,
      info: market,
    };
    return parsed as unknown as ccxt.Market;
  }

  override async fetchTicker(outcome: string) {
    const known = await this.found(outcome);
    const market = await this.read(`markets/${known['marketId']}`, {}, 'public');
    return this.parsePredictionTicker(market, known);
  }

  override async fetchTickers(outcomes?: Strings, params: Dict = {}) {
    const markets = await this.rawMarkets(params);
    const tickers = markets.flatMap((market) =>
      OUTCOMES.map((label) => this.parsePredictionTicker(market, identity(market['id'], label))),
    );
    const isWanted = ({ outcome, outcomeId }: ccxt.PredictionTicker) =>
      outcomes === undefined || outcomes.includes(outcome) || outcomes.includes(`${outcomeId}`);
    return this.indexBy(tickers.filter(isWanted), 'outcome') as ccxt.PredictionTickers;
  }

  /** `last` is the last trade's price; `average` is the middle of the book. */
  override parsePredictionTicker(market: Raw, outcome?: Raw) {
    const named = identity(market['id'], outcome?.['label']);
    const price = this.safeString(market['prices'], named.label);
    const isTrade = market['pricesFrom'] === 'trade';
    return this.safePredictionTicker({
      ...named,
      timestamp: this.safeInteger(market, 'atMs'),
      bid: this.safeString(market['bestBid'], named.label),
      ask: this.safeString(market['bestAsk'], named.label),
      last: isTrade ? price : undefined,
      average: isTrade ? undefined : price,
      quoteVolume: this.safeString(market, 'volume'),
      openInterest: this.safeString(market, 'openInterest'),
      info: market,
    });
  }

  override async fetchOrderBook(outcome: Str, limit?: Int) {
    const known = await this.found(outcome);
    const path = `markets/15m/${known['marketId']}/orderbook`;
    const answer = await this.read(path, { depth: limit ?? 999 }, 'public');
    const { label, outcome: handle } = known as { label: string; outcome: string };
    const timestamp = this.safeInteger(answer, 'atMs');
    const sides = ['bids', 'asks', 'price', 'shares'] as const;
    const book = this.parseOrderBook(answer[label], handle, timestamp, ...sides);
    return this.safePredictionOrderBook({ ...book, nonce: answer['sequence'] }, known);
  }

  override async fetchTrades(outcome: string, since?: Int, limit?: Int) {
    const known = await this.found(outcome);
    const path = `markets/15m/${known['marketId']}/trades`;
    const trades = await this.pages(path, 'trades', {}, { since, limit });
    return this.parsePredictionTrades(trades, known, since, limit);
  }

  /** Intervals without a trade are left out. */
  override async fetchOHLCV(outcome: string, timeframe = '1m', since?: Int, limit?: Int) {
    const known = await this.found(outcome);
    const interval = this.safeString(this.timeframes, timeframe);
    if (interval === undefined)
      throw new ccxt.BadRequest(`${this.id} has no candles of ${timeframe}`);
    const path = `markets/15m/${known['marketId']}/candles`;
    const hasTrades = ({ UP }: Raw) => UP !== null;
    const candles = await this.pages(path, 'candles', { interval }, { since, limit }, hasTrades);
    return this.parseOHLCVs(candles, known, timeframe, since, limit);
  }

  override parseOHLCV({ atMs, UP, volume }: Raw, outcome?: Raw): ccxt.OHLCV {
    const isDown = outcome?.['label'] === 'DOWN';
    const [high, low] = isDown ? ['low', 'high'] : ['high', 'low'];
    const prices = ['open', high, low, 'close'].map((name) => {
      const price = this.safeString(UP, name);
      return this.parseNumber(isDown ? mirrored(price) : price);
    });
    const [first, highest, lowest, last] = prices;
    return [this.parseNumber(atMs), first, highest, lowest, last, this.parseNumber(volume)];
  }

  /** A public trade is seen from the requested outcome's side. */
  override parsePredictionTrade(trade: Raw, outcome?: Raw) {
    const isOwn = trade['orderId'] !== undefined;
    const marketId = trade['marketId'] ?? outcome?.['marketId'];
    const label = isOwn ? trade['outcome'] : outcome?.['label'];
    const isMirrored = label !== trade['outcome'];
    const price = this.safeString(trade, 'price');
    const isBuy = (trade['side'] === 'BUY') !== isMirrored;
    const fee = this.safeNumber(trade, 'fee');
    return this.safePredictionTrade({
      ...identity(marketId, label),
      id: trade['tradeId'],
      order: trade['orderId'],
      timestamp: this.safeInteger(trade, 'atMs'),
      side: isBuy ? 'buy' : 'sell',
      takerOrMaker: isOwn ? trade['role'] : 'taker',
      price: isMirrored ? mirrored(price) : price,
      amount: this.safeString(trade, 'shares'),
      fee: fee === undefined ? undefined : { currency: 'USD', cost: fee },
      info: trade,
    });
  }

  // The account.

  override async fetchBalance() {
    const balance = await this.read('users/me/balance');
    const [free, used, total] = ['available', 'held', 'total'].map((name) =>
      this.safeString(balance, name),
    );
    const timestamp = this.safeInteger(balance, 'atMs');
    const datetime = this.iso8601(timestamp);
    return this.safeBalance({ info: balance, timestamp, datetime, USD: { free, used, total } });
  }

  override async fetchPositions(outcomes?: Strings) {
    // Fees that a VOID market refunds have no outcome.
    const isOfOutcome = ({ outcome }: Raw) => outcome !== null;
    const all = { limit: Number.POSITIVE_INFINITY };
    const raw = await this.pages('users/me/positions', 'positions', {}, all, isOfOutcome);
    const positions = this.parsePredictionPositions(raw);
    return this.filterByOutcomesSinceLimit(positions, outcomes);
  }

  override parsePredictionPosition(position: Raw) {
    const isResolved = position['status'] === 'claimable';
    return this.safePredictionPosition({
      ...identity(position['marketId'], position['outcome']),
      id: position['positionId'],
      timestamp: this.safeInteger(position, 'atMs'),
      contracts: this.safeString(position, 'shares'),
      contractSize: 1,
      side: 'long',
      notional: this.safeString(position, 'value'),
      unrealizedPnl: this.safeString(position, 'unrealizedProfit'),
      collateral: this.safeString(position, 'cost'),
      entryPrice: this.safeString(position, 'averagePrice'),
      markPrice: this.safeString(position, 'price'),
      resolved: isResolved,
      payout: isResolved ? this.safeString(position, 'payout') : undefined,
      info: position,
    });
  }

  override async fetchMyTrades(outcome?: Str, since?: Int, limit?: Int, params: Dict = {}) {
    const known = outcome === undefined ? undefined : await this.found(outcome);
    const query = { marketId: known?.['marketId'], ...params };
    const isWanted = isOf(known);
    const raw = await this.pages('users/me/trades', 'trades', query, { since, limit }, isWanted);
    return this.parsePredictionTrades(raw, known, since, limit);
  }

  // Orders.

  /**
   * A limit order is GTC (it rests until the market ends) unless `timeInForce` is IOC or FOK. PO is
   * GTC, but post-only. A market order is IOC or FOK; it trades at any price, or up to `price`. For
   * a market buy you can pass `cost`, the dollars to spend, instead of an amount. Other types of
   * order are refused. Other params are fields of the exchange's orders, such as clientOrderId,
   * expiresAtMs, validUntilMs, selfTrade and groupId.
   */
  override async createOrder(
    outcome: string,
    type: ccxt.OrderType,
    side: ccxt.OrderSide,
    amount?: number,
    price?: Num,
    params: Dict = {},
  ) {
    const known = await this.found(outcome);
    const { cost, timeInForce, postOnly, ...rest } = params;
    const isMarket = type === 'market';
    if (!isMarket && type !== 'limit')
      throw new ccxt.InvalidOrder(`${this.id} has no orders of the type ${type}`);
    if (!isMarket && price === undefined)
      throw new ccxt.ArgumentsRequired(
        `${this.id} createOrder() requires a price for a limit order`,
      );
    const isPostOnly = postOnly === true || timeInForce === 'PO';
    if (isMarket && (isPostOnly || timeInForce === 'GTC'))
      throw new ccxt.InvalidOrder(`${this.id} market orders are IOC or FOK`);
    const given = timeInForce === 'PO' ? 'GTC' : timeInForce;
    const limit = price === undefined ? undefined : this.priceToPrecision(known['market'], price);
    const anyPrice = side === 'buy' && cost === undefined ? ANY_PRICE['BUY'] : undefined;
    const answer = await this.change('POST', `markets/15m/${known['marketId']}/${side}`, {
      outcome: known['label'],
      ...(cost === undefined
        ? { shares: this.amountToPrecision(known['market'], amount) }
        : { amount: this.numberToString(cost) }),
      price: limit ?? anyPrice,
      timeInForce: given ?? (isMarket ? 'IOC' : 'GTC'),
      postOnly: isPostOnly ? true : undefined,
      ...rest,
    });
    return this.parsePredictionOrder(placed(answer));
  }

  override createMarketBuyOrderWithCost(outcome: string, cost: number, params: Dict = {}) {
    return this.createOrder(outcome, 'market', 'buy', undefined, undefined, { cost, ...params });
  }

  /** `amount` is the new total size, filled shares included. */
  async editOrder(
    id: string,
    outcome: string,
    _type: ccxt.OrderType,
    _side: ccxt.OrderSide,
    amount?: Num,
    price?: Num,
    params: Dict = {},
  ) {
    const known = await this.found(outcome);
    const path = `markets/15m/${known['marketId']}/orders/${encodeURIComponent(id)}`;
    const answer = await this.change('PATCH', path, {
      shares: this.amountToPrecision(known['market'], amount),
      price: this.priceToPrecision(known['market'], price),
      ...params,
    });
    // The receipt covers the amendment only, without the order's earlier fills.
    const { isOpen, restingShares, spent, received, averagePrice, fee, ...rest } = answer;
    return this.parsePredictionOrder({
      ...rest,
      restingShares: isOpen ? restingShares : undefined,
    });
  }

  override async cancelOrder(id: string, outcome?: Str, params: Dict = {}) {
    if (outcome === undefined)
      throw new ccxt.ArgumentsRequired(`${this.id} cancelOrder() requires an outcome`);
    const known = await this.found(outcome);
    const path = `markets/15m/${known['marketId']}/orders/${encodeURIComponent(id)}`;
    const answer = await this.change('DELETE', path, params);
    return this.parsePredictionOrder({ ...answer, outcome: known['label'] });
  }

  /** Leaves out ended orders. Each 100 ids are one change: after an error some may be cancelled. */
  override async cancelOrders(ids: string[], outcome?: Str, params: Dict = {}) {
    if (outcome === undefined)
      throw new ccxt.ArgumentsRequired(`${this.id} cancelOrders() requires an outcome`);
    const { marketId, label } = await this.found(outcome);
    const { idempotencyKey = this.uuid(), ...fields } = params;
    const cancelled: ccxt.PredictionOrder[] = [];
    for (let i = 0; i < ids.length; i += BATCH) {
      const some = ids.slice(i, i + BATCH);
      const operations = some.map((orderId) => ({ op: 'cancel', marketId, orderId }));
      const ofBatch = { operations, ...fields, idempotencyKey: `${idempotencyKey}-${i / BATCH}` };
      const { results } = await this.change('POST', 'batch', ofBatch).catch((error) => {
        throw Object.assign(error, { idempotencyKey });
      });
      for (const result of results as Raw[]) {
        if (result['type'] !== 'error')
          cancelled.push(this.parsePredictionOrder({ ...result, outcome: label }));
        else if (result['error'].code !== 'order_closed') throw this.refusal(result['error']);
      }
    }
    return cancelled;
  }

  /**
   * All orders if `outcome` is undefined. With an outcome, a repeat may cancel other orders, so the
   * key is a new one.
   */
  async cancelAllOrders(outcome?: Str, params: Dict = {}) {
    if (outcome !== undefined) {
      const { idempotencyKey: _, ...fields } = params;
      const open = await this.fetchOpenOrders(outcome);
      const ids = open.map(({ id }) => `${id}`);
      return this.cancelOrders(ids, outcome, fields);
    }
    const { cancelled, atMs } = await this.change('DELETE', 'users/me/orders', params);
    return cancelled.map((orderId: string) =>
      this.parsePredictionOrder({ orderId, status: 'cancelled', atMs }),
    );
  }

  async fetchOrder(id: string, _outcome?: Str, params: Dict = {}) {
    const order = await this.read(`users/me/orders/${encodeURIComponent(id)}`, params);
    return this.parsePredictionOrder(order);
  }

  private async listOrders(query: Raw, outcome: Str, range: { since?: Int; limit?: Int }) {
    const known = outcome === undefined ? undefined : await this.found(outcome);
    const isOpen = query['status'] === undefined;
    const some = isOpen ? { limit: Number.POSITIVE_INFINITY } : range;
    const all = isOpen ? query : { marketId: known?.['marketId'], ...query };
    const raw = await this.pages('users/me/orders', 'orders', all, some, isOf(known));
    return this.parsePredictionOrders(raw, known, range.since, range.limit);
  }

  override fetchOpenOrders(outcome?: Str, since?: Int, limit?: Int, params: Dict = {}) {
    return this.listOrders(params, outcome, { since, limit });
  }

  override fetchClosedOrders(outcome?: Str, since?: Int, limit?: Int, params: Dict = {}) {
    return this.listOrders({ status: 'closed', ...params }, outcome, { since, limit });
  }

  override fetchOrders(outcome?: Str, since?: Int, limit?: Int, params: Dict = {}) {
    return this.listOrders({ status: 'all', ...params }, outcome, { since, limit });
  }

  /** From a list, a receipt or the stream. Fields that it lacks are undefined. */
  override parsePredictionOrder(order: Raw) {
    const price = this.safeString(order, 'price');
    const { side, marketId, outcome, timeInForce, status } = order;
    const isMarket = timeInForce !== 'GTC' && price === ANY_PRICE[side];
    const fee = this.safeNumber(order, 'fee');
    const timestamp = this.safeInteger2(order, 'placedAtMs', 'atMs');
    return this.safePredictionOrder({
      ...(marketId === undefined || outcome === undefined ? {} : identity(marketId, outcome)),
      id: order['orderId'],
      clientOrderId: order['clientOrderId'],
      timestamp,
      lastTradeTimestamp: this.safeInteger(order, 'tradedAtMs'),
      lastUpdateTimestamp: this.safeInteger2(order, 'closedAtMs', 'atMs'),
      status: STATUSES[status],
      type: isMarket ? 'market' : 'limit',
      timeInForce: order['postOnly'] === true ? 'PO' : timeInForce,
      postOnly: order['postOnly'],
      side: this.safeStringLower(order, 'side'),
      price: isMarket ? undefined : price,
      average: this.safeString(order, 'averagePrice'),
      amount: this.safeString(order, 'originalShares'),
      filled: this.safeString(order, 'filledShares'),
      remaining: status === 'resting' ? this.safeString(order, 'restingShares') : undefined,
      cost: this.safeString2(order, 'spent', 'received'),
      fee: fee === undefined ? undefined : { currency: 'USD', cost: fee },
      trades: order['fills'] ?? [],
      info: order,
    });
  }

  // The stream. The exchange answers a connection's messages in the order in which they are sent.

  override onConnected(client: Raw): void {
    if (!this.apiKey) return;
    const message = { op: 'auth', id: 'user', token: this.apiKey };
    client['send'](message).catch((error: Error) => client['onError'](error));
  }

  private async follow(channel: string, hash: string) {
    const url = `${this['url'].replace(/^http/, 'ws')}/api/stream`;
    // ccxt needs an agent for a connection without TLS.
    if (url.startsWith('ws:') && this.isNode) await this.loadHttpProxyAgent();
    return this.watch(url, hash, { op: 'subscribe', id: channel, channels: [channel] }, hash);
  }

  override async watchOrderBook(outcome: string, limit?: Int) {
    const known = await this.found(outcome);
    const book = await this.follow(`book:${known['marketId']}`, known['outcome']);
    if (limit === undefined) return book;
    const [bids, asks] = [[...book.bids].slice(0, limit), [...book.asks].slice(0, limit)];
    return { ...book, bids, asks };
  }

  /**
   * The user's orders that changed since the last call. The first call returns the open orders. An
   * order that rested and ended while messages were lost is not reported: fetchClosedOrders has it.
   */
  override async watchOrders(outcome?: Str, since?: Int, limit?: Int) {
    this.checkRequiredCredentials();
    const handle = outcome === undefined ? undefined : (await this.found(outcome))['outcome'];
    for (;;) {
      for (const [id, minSequence] of this.endedOrders) await this.readEnd(id, minSequence);
      const changed = [...this.changedOrders.values()];
      const orders = this.filterByOutcomeSinceLimit(changed, handle, since, limit, true);
      for (const { id } of orders) this.changedOrders.delete(id);
      if (orders.length > 0) return orders;
      await this.follow('user', 'user');
    }
  }

  /** If the read may succeed later, the next call repeats it. */
  private async readEnd(id: string, minSequence: number): Promise<void> {
    try {
      const order = await this.fetchOrder(id, undefined, { minSequence });
      // Another call may have read it.
      if (this.endedOrders.delete(id)) this.changedOrders.set(id, order);
    } catch (error) {
      if (!(error instanceof ccxt.OperationFailed)) this.endedOrders.delete(id);
      throw error;
    }
  }

  override handleMessage(client: Raw, message: Raw): void {
    const { type, channel = message['id'] ?? '', part, parts, text } = message;
    if (type === 'part') {
      if (part === 1) this.parts = [];
      this.parts.push(text);
      if (part === parts) this.handleMessage(client, JSON.parse(this.parts.join('')));
    } else if (type === 'error') this.end(client, channel, this.refusal(message));
    else if (type === 'closed')
      this.end(client, channel, new ccxt.MarketClosed(`${this.id} ${channel} has ended`));
    else if ((type === 'snapshot' || type === 'delta') && this.isNext(client, message)) {
      if (channel === 'user') this.handleAccount(client, message);
      else this.handleBook(client, message);
    }
  }

  /** Rejects the calls that wait for a channel. */
  private end(client: Raw, channel: string, error: Error): void {
    const [kind, marketId] = channel.split(':') as [string, string?];
    const hashes = marketId ? OUTCOMES.map((label) => identity(marketId, label).outcome) : [kind];
    delete this.places[channel];
    for (const hash of hashes) {
      delete client['subscriptions'][hash];
      delete this.orderbooks[hash];
      if (hash in client['futures']) client['reject'](error, hash);
    }
  }

  /** If the message does not follow the channel's last one, requests a snapshot. */
  private isNext(client: Raw, { type, channel, channelSequence, previousSequence }: Raw): boolean {
    const place = this.places[channel];
    if (type === 'snapshot' || (place !== undefined && previousSequence <= place)) {
      this.places[channel] = channelSequence;
      return true;
    }
    delete this.places[channel];
    if (place !== undefined)
      client['send']({ op: 'subscribe', id: channel, channels: [channel] }).catch(() => {});
    return false;
  }

  private handleBook(client: Raw, { type, sequence, atMs, data }: Raw): void {
    for (const label of OUTCOMES) {
      const named = identity(data['marketId'], label);
      const book: Raw = this.orderbooks[named.outcome] ?? this.orderBook({});
      this.orderbooks[named.outcome] = book as ReturnType<typeof this.orderBook>;
      if (type === 'snapshot') book['reset'](named);
      for (const side of ['bids', 'asks'])
        for (const { price, shares } of data[label][side])
          book[side]['storeArray']([price, shares]);
      Object.assign(book, { timestamp: atMs, datetime: this.iso8601(atMs), nonce: sequence });
      client['resolve'](book, named.outcome);
    }
  }

  private handleAccount(client: Raw, { type, sequence, atMs, data }: Raw): void {
    const touched = new Map<string, Raw>();
    if (type === 'snapshot') {
      for (const order of data['orders']) touched.set(order.orderId, order);
      for (const id of Object.keys(this.openOrders))
        if (!touched.has(id)) this.endedOrders.set(id, sequence);
      this.openOrders = {};
    }
    for (const event of data['events'] ?? []) {
      if (event.orderId === undefined) continue;
      const order = touched.get(event.orderId) ?? this.openOrders[event.orderId] ?? {};
      touched.set(
        event.orderId,
        this.applied({ placedAtMs: atMs, filledShares: '0', ...order }, { ...event, atMs }),
      );
    }
    for (const [id, order] of touched) {
      // If the order does not rest and no event reported its end, it was filled.
      const status = order['status'] ?? 'filled';
      const originalShares = status === 'filled' ? order['filledShares'] : order['originalShares'];
      const whole = { ...order, atMs, status, originalShares };
      if (status === 'resting') this.openOrders[id] = whole;
      else delete this.openOrders[id];
      this.changedOrders.set(id, this.parsePredictionOrder(whole));
    }
    client['resolve'](data, 'user');
  }

  private applied(order: Raw, event: Raw): Raw {
    const sum = (name: string, more: number) =>
      ccxt.Precise.stringAdd(this.safeString(order, name, '0'), this.numberToString(more));
    const { orderId, clientOrderId, marketId, side, outcome } = { ...order, ...event };
    const named = { ...order, orderId, clientOrderId, marketId, side, outcome };
    const { type, price, shares, reason } = event;
    if (type === 'fill') {
      const worth = side === 'BUY' ? 'spent' : 'received';
      const rests = event['role'] === 'maker' ? sum('restingShares', -shares) : undefined;
      return {
        ...named,
        filledShares: sum('filledShares', shares),
        [worth]: sum(worth, event['value']),
        averagePrice: undefined,
        fee: sum('fee', event['fee']),
        tradedAtMs: event['atMs'],
        restingShares: rests,
        status: rests !== undefined && ccxt.Precise.stringGt(rests, '0') ? 'resting' : undefined,
      };
    }
    if (type === 'order_rested') {
      const originalShares = sum('filledShares', shares);
      const terms = { price, timeInForce: 'GTC', originalShares, restingShares: shares };
      return { ...named, ...terms, status: 'resting' };
    }
    if (type === 'order_amended') {
      const { originalShares, keptPriority } = event;
      const status = keptPriority && shares > 0 ? 'resting' : undefined;
      return { ...named, price, originalShares, restingShares: shares, status };
    }
    if (type === 'order_cancelled')
      return { ...named, status: reason === 'expired' ? 'expired' : 'cancelled' };
    const isOwn = reason === 'self_trade' || reason === 'order_group';
    return { ...named, status: isOwn ? 'cancelled' : 'partially_filled' };
  }
}

/** If `known` is undefined, every account entry belongs. */
function isOf(known: Raw | undefined): (entry: Raw) => boolean {
  return ({ marketId, outcome }) =>
    known === undefined || (marketId === known['marketId'] && outcome === known['label']);
}

/** In the form that lists use; ccxt adds up the trades. */
function placed(receipt: Raw): Raw {
  const { shares, spent, received, ...order } = receipt;
  const { orderId, marketId, outcome, side, atMs } = order;
  const ofOrder = { orderId, marketId, outcome, side, atMs, role: 'taker' };
  const fills = order['fills'].map((fill: Raw) => ({ ...fill, ...ofOrder }));
  return fills.length === 0 ? { ...receipt, filledShares: shares } : { ...order, fills };
}
