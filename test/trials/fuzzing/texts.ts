/** Fuzz inputs: text from clients, browsers and price venues; price files; exported CSV. */
import { createHmac } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { Big } from 'big.js';
import { Engine } from '../../../engine/engine.js';
import { MAX_ASSET_PRICE_MICROS } from '../../../engine/interface/limits.js';
import { tokenIn } from '../../../gateway/access/cookie.js';
import { Sessions } from '../../../gateway/access/sessions.js';
import { acceptedEncoding } from '../../../gateway/http/answers/accept-encoding.js';
import { COINBASE } from '../../../gateway/inputs/feeds/coinbase-messages.js';
import { KRAKEN } from '../../../gateway/inputs/feeds/kraken-messages.js';
import { parsePriceMicros } from '../../../gateway/inputs/feeds/price-feed.js';
import { readTicks, type Tick, TickFileError } from '../../../gateway/inputs/feeds/tick-file.js';
import { inexactNumber } from '../../../gateway/json/decimal.js';
import { colonCount, repeatedKey } from '../../../gateway/json/repeated-key.js';
import { readJson, validateMessage } from '../../../gateway/stream/message-reader.js';
import { type Kind, MARKET, quick, slow } from '../../gateway/resources/orders/order-twin.js';
import { registration } from '../../support/engine-support.js';
import { csv } from './csv.js';
import type { Target } from './fuzz.js';

const SYMBOLS = new Set(['BTC', 'ETH']);
const KINDS: readonly Kind[] = ['buy', 'sell', 'amend', 'batch', 'stream'];
const LIMITS = `"price":0.45,"timeInForce":"GTC","postOnly":true,"validUntilMs":1763700301000,"clientOrderId":"a:1_b-2.c","expiresAtMs":1763700302000,"selfTrade":"cancel_both"`;
const BUY = `"op":"buy","marketId":"${MARKET}","outcome":"UP","amount":"10.05"`;
const ORDERS = [
  `{"userId":"u12","outcome":"UP","amount":10.050001,"price":0.5}`,
  `{"outcome":"DOWN","shares":7.125,${LIMITS}}`,
  `{"operations":[{${BUY}},{"op":"amend","marketId":"${MARKET}","orderId":"o77","shares":2,"price":0.4},{"op":"cancel","marketId":"${MARKET}","clientOrderId":"x"},{"op":"cancelAll"}],"atomic":true}`,
  `{"op":"order","id":"1","operation":{${BUY}},"idempotencyKey":"k:1"}`,
  `{"op":"batch","id":"2","operations":[{"op":"split","marketId":"${MARKET}","shares":3}],"clientSequence":7}`,
];
const MESSAGES = [
  ...ORDERS,
  '{"op":"subscribe","channels":["markets","book:btc-15m-1763700300","user"],"fromSequence":12}',
  '{"op":"unsubscribe","channels":["prices:BTC"],"id":"a"}',
  '{"op":"auth","token":"a.b.c","cancelOnDisconnect":true}',
  '{"op":"ping"}',
];

function fail(what: string, value: unknown): never {
  throw new Error(`${what}: ${JSON.stringify(value)}`);
}

const orders: Target = {
  name: 'orders',
  seeds: ORDERS.map((text) => Buffer.from(text)),
  check(input) {
    for (const kind of KINDS) {
      const command = quick(kind, input);
      const expected = command === null ? null : slow(kind, input);
      if (!isDeepStrictEqual(command, expected)) fail(`as ${kind}`, { command, expected });
    }
  },
};

/** The keys of each object of a JSON text, and its numbers, read in the simplest way. */
function readPlainly(text: string): { keys: string[][]; numbers: string[] } {
  const found: { keys: string[][]; numbers: string[] } = { keys: [], numbers: [] };
  let at = 0;
  const token = (pattern: RegExp) => {
    pattern.lastIndex = at;
    const [match] = pattern.exec(text) ?? fail('the plain reader is lost', { text, at });
    at += match.length;
    return match.trim();
  };
  const string = () => token(/\s*"(?:[^"\\]|\\.)*"/y);
  const value = (): void => {
    switch (token(/\s*/y) + text[at]) {
      case '"':
        string();
        return;
      case '[':
      case '{': {
        const isObject = token(/[[{]/y) === '{';
        const keys: string[] = [];
        if (isObject) found.keys.push(keys);
        if (/\s*[\]}]/y.test(text.slice(at)) && token(/\s*[\]}]?/y) !== '') return;
        do {
          if (isObject) keys.push(JSON.parse(string()) as string);
          if (isObject) token(/\s*:/y);
          value();
        } while (token(/\s*[,\]}]/y) === ',');
        return;
      }
      default: {
        const scalar = token(/[-\w.+]+/y);
        if (!/^[a-z]/.test(scalar)) found.numbers.push(scalar);
      }
    }
  };
  value();
  return found;
}

const json: Target = {
  name: 'JSON checks',
  seeds: [...MESSAGES, '{"a":[{"b":1.5e3,"c":{}},[],null,true],"\\u0061":"\\"x:"}'].map((text) =>
    Buffer.from(text),
  ),
  check(input) {
    const text = input.toString('utf8');
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      return;
    }
    const { keys, numbers } = readPlainly(text);
    const isRepeated = keys.some((of) => new Set(of).size < of.length);
    const repeated = repeatedKey(value, text, colonCount(Buffer.from(text)));
    if ((repeated !== null) !== isRepeated) fail('a duplicate key', { repeated, keys });
    const isInexact = (number: string) => {
      const double = Number(number);
      return Number.isFinite(double) && double !== 0 && !new Big(number).eq(new Big(double));
    };
    const inexact = inexactNumber(text);
    if (inexact === null && numbers.some(isInexact)) fail('a number that is inexact', numbers);
    if (inexact !== null && !numbers.includes(inexact)) fail('a number that is not there', inexact);
  },
};

const messages: Target = {
  name: 'stream messages',
  seeds: MESSAGES.map((text) => Buffer.from(text)),
  check(input) {
    const received = readJson(new Uint8Array(input).buffer, false);
    if (received.problem !== null) return;
    const message = validateMessage(received);
    if ('status' in message) return;
    const again = readJson(
      new Uint8Array(Buffer.from(JSON.stringify(received.json))).buffer,
      false,
    );
    if (!isDeepStrictEqual(validateMessage(again), message))
      fail('it is another one, written again', message);
  },
};

const venues: Target = {
  name: 'messages of venues',
  seeds: [
    '{"type":"ticker","product_id":"BTC-USD","sequence":123,"price":"97000.01","time":"2025-11-21T06:30:00.123456Z"}',
    '{"type":"subscriptions","channels":[{"name":"ticker","product_ids":["BTC-USD"]}]}',
    '{"type":"error","message":"no","reason":"why"}',
    '{"channel":"trade","data":[{"symbol":"BTC/USD","trade_id":7,"price":97000.1,"timestamp":"2025-11-21T06:30:00.123456Z"}]}',
    '{"method":"subscribe","success":true,"result":{"symbol":"BTC/USD"}}',
    '{"method":"subscribe","success":false,"error":"no"}',
    '{"channel":"heartbeat"}',
  ].map((text) => Buffer.from(text)),
  check(input) {
    for (const venue of [COINBASE, KRAKEN])
      for (const message of venue.read(input.toString('utf8'))) {
        if (message.type !== 'ticker') continue;
        const { priceMicros, sequence, tradedAtMs } = message;
        const isPrice = priceMicros >= 1 && priceMicros <= MAX_ASSET_PRICE_MICROS;
        const isWhole = [priceMicros, sequence, tradedAtMs].every(Number.isSafeInteger);
        if (!isPrice || !isWhole || sequence < 0) fail('a price', message);
      }
  },
};

/** `folder`: for the price file. */
function priceFiles(folder: string): Target {
  const path = join(folder, 'prices.csv');
  return {
    name: 'price files',
    seeds: [
      'observedAtMs,asset,price\n1763700300000,BTC,97000.123456\n1763700300001,ETH,3000\n',
      '\ufeffobservedAtMs,asset,price,source\r\n1763700300000,BTC,1,kraken\r\n\r\n1763700300000,ETH,"2.50",a.b-c\r\n',
    ].map((text) => Buffer.from(text)),
    async check(input) {
      writeFileSync(path, input);
      const ticks: Tick[] = [];
      try {
        for await (const tick of readTicks(path, SYMBOLS)) ticks.push(tick);
      } catch (error) {
        if (error instanceof TickFileError) return;
        throw error;
      }
      const times = ticks.map(({ observedAtMs }) => observedAtMs);
      if (
        !isDeepStrictEqual(
          times,
          times.toSorted((a, b) => a - b),
        )
      )
        fail('time goes back', times);
      const text = input.toString('utf8').replace(/^\ufeff/, '');
      // A quoted field may contain line breaks; without quotes, each line is a price.
      if (text.includes('"')) return;
      const [, ...lines] = text.split(/\r?\n/).filter((line) => line !== '');
      const expected = lines.map((line) => {
        const [observedAtMs, symbol, price, source] = line.split(',');
        const priceMicros = parsePriceMicros(price!);
        const tick = { observedAtMs: Number(observedAtMs), symbol, priceMicros };
        return source === undefined ? tick : { ...tick, source };
      });
      if (!isDeepStrictEqual(ticks, expected)) fail('other prices', { ticks, expected });
    },
  };
}

/** Cookies, and tokens that are changed and then signed. */
async function tokens(): Promise<Target> {
  const secret = Buffer.alloc(32, 7);
  const sessions = new Sessions([secret]);
  const engine = new Engine();
  for (const name of ['ada', 'bob']) engine.apply(registration(name, 10), 1_763_700_300_000);
  const issued = await sessions.issue(1, engine.credentialVersion(1), 1_763_700_300_000);
  const [head, claims] = issued.split('.').map((part) => Buffer.from(part, 'base64url').toString());
  const encoded = (text: string) => Buffer.from(text, 'latin1').toString('base64url');
  return {
    name: 'cookies and tokens',
    seeds: [
      `a=b; service-session="${issued}"; c`,
      `${head}\n${claims}`,
      `${head}\n{"sub":"u2","ver":1,"iat":1763700300,"tid":"k1"}`,
    ].map((text) => Buffer.from(text)),
    check(input) {
      const text = input.toString('latin1');
      const token = tokenIn({ userToken: '', cookie: text });
      if (typeof sessions.check(token, engine) !== 'string' && token !== issued)
        fail('a token that nobody issued', token);
      const [first = '', second = ''] = text.split('\n', 2);
      const signed = `${encoded(first)}.${encoded(second)}`;
      const signature = createHmac('sha256', secret).update(signed).digest('base64url');
      const session = sessions.check(`${signed}.${signature}`, engine);
      if (typeof session === 'string') return;
      const account = engine.account(session.userId);
      if (account === null || session.version !== engine.credentialVersion(session.userId))
        fail('a session of nobody', session);
      const { encoding } = acceptedEncoding(text);
      if (!['', 'br', 'gzip'].includes(encoding)) fail('an encoding', encoding);
    },
  };
}

export async function textTargets(folder: string): Promise<Target[]> {
  return [orders, json, messages, venues, priceFiles(folder), csv, await tokens()];
}
