/**
 * The readers of orders, batches and order entry against the schemas, on random bodies. For any
 * body that a reader accepts, JSON.parse, the check for duplicate keys and zod yield the same
 * command. A reader accepts what clients usually send.
 *
 * SEED repeats the random bodies.
 */
import { isDeepStrictEqual } from 'node:util';
import { expect, test } from 'vitest';
import { extent, SEED } from '../../support/extent.js';
import { Random } from '../../support/workload/random.js';
import { type Kind, MARKET, quick, slow } from './orders/order-twin.js';

const BODIES = extent(1_000_000, 10_000);
/** Texts of values, valid ones first and most often. */
const VALUES: Record<string, readonly [usual: readonly string[], odd: readonly string[]]> = {
  userId: [['"u12"'], ['"u1"', '"u012"', '"u"', '""', '12', 'null', '"\\u0075\\u0031\\u0032"']],
  outcome: [
    ['"UP"', '"DOWN"'],
    ['"up"', '"U"', '"DOWNS"', 'true', '"\\u0055P"'],
  ],
  amount: [
    ['1', '0.05', '10.50', '1000000', '0.000001', '12.345678', '"10.05"'],
    [
      ...['0', '-1', '1e2', '1E-1', '1.', '.5', '01', '0.0000001', '1000000.000001', '-0', '""'],
      ...['"01"', '"1."', '" 1"', '"1 "', '"-1"', '"1e2"', '""1""', '"1', '"\\u0031"', '"+1"'],
    ],
  ],
  shares: [
    ['1', '7.125', '100', '0.001', '10000000', '0.100', '"7.125"'],
    [
      '"1.00000000000000000001"',
      '"0"',
      '0.0001',
      '10000000.001',
      '0.0',
      '1.00000000000000000001',
      '123456789012345678',
      '1e400',
    ],
  ],
  price: [
    ['0.5', '0.001', '0.999', '0.25', '0.500', '"0.25"'],
    [
      '"0.5000000000000000"',
      '"0.1234"',
      '1',
      '0',
      '0.0005',
      '0.5000000000000000',
      '0.50000000000001',
      '0.1234',
      '00.5',
      'null',
    ],
  ],
  timeInForce: [
    ['"IOC"', '"FOK"', '"GTC"', '"GTC"'],
    ['"GTD"', '"gtc"', '2'],
  ],
  postOnly: [
    ['true', 'false'],
    ['1', '"true"', 'TRUE', 'tru', 'null'],
  ],
  validUntilMs: [
    ['0', '1763700301000', '8640000000000'],
    ['-0', '-1', '1.5', '8640000000001', '1763700301000.0', '1e3'],
  ],
  clientOrderId: [
    ['"a"', '"grid:7_b-2.c"', `"${'x'.repeat(64)}"`],
    ['""', `"${'x'.repeat(65)}"`, '"a b"', '"a/b"', '"\\u0061"', '"é"', '7', 'null'],
  ],
  expiresAtMs: [
    ['1763700301000', '8640000000000', '0'],
    ['-0', '-1', '1.5', '8640000000001', 'null'],
  ],
  groupId: [
    ['"g1"', '"g123456"'],
    ['"g0"', '"o1"', '"g01"', '""', '7', 'null', '"g1234567890123456"'],
  ],
  selfTrade: [
    ['"cancel_resting"', '"cancel_taker"', '"cancel_both"'],
    ['"cancel"', '1', 'null', '""'],
  ],
  marketId: [
    [`"${MARKET}"`, `"${MARKET}"`, '"eth-15m-1763700300"'],
    ['"x"', '""', '"é"', '5'],
  ],
  id: [
    ['"1"', '"order 7"', `"${'x'.repeat(64)}"`],
    ['1', '""', `"${'x'.repeat(65)}"`, '"é"', '"\\n"'],
  ],
  idempotencyKey: [
    ['"k1"', '"A-z_0:9."'],
    ['""', '"a b"', '""k""', '7', `"${'k'.repeat(65)}"`],
  ],
  orderId: [
    ['"o1"', '"o123456"'],
    ['"o0"', '"u1"', '"o01"', '""', '"o1234567890123456"'],
  ],
};
const EXTRA = [
  '__proto__',
  'Outcome',
  'amounts',
  'op ',
  'toString',
  '',
  'outc\\u006fme',
  'orderIb',
];
const LIMITS = [
  'userId',
  'price',
  'timeInForce',
  'postOnly',
  'validUntilMs',
  'clientOrderId',
  'expiresAtMs',
  'selfTrade',
  'groupId',
];
const FIELDS: Record<string, readonly [always: readonly string[], often: readonly string[]]> = {
  buy: [['outcome'], ['amount', 'shares', ...LIMITS]],
  sell: [['outcome', 'shares'], LIMITS],
  cancel: [[], ['userId']],
  amend: [[], ['shares', 'price', 'userId']],
  cancelAll: [[], ['userId']],
  claim: [[], ['userId']],
  split: [['shares'], ['userId']],
  merge: [['shares'], ['userId']],
};

class Bodies {
  constructor(
    private readonly random: Random,
    /** One value in this many is odd. */
    private readonly oddIn: number,
  ) {}

  body(kind: Kind): Buffer {
    const text =
      kind === 'batch' ? this.batch() : kind === 'stream' ? this.message() : this.object(kind, []);
    return Buffer.from(this.isOdd() ? this.damaged(text) : text);
  }

  private message(): string {
    const { random } = this;
    const isOrder = random.chance(0.5);
    const fields = [`"op":"${isOrder !== this.isOdd() ? 'order' : 'batch'}"`];
    if (!this.isOdd()) fields.push(this.field('id'));
    if (isOrder) fields.push(`"operation":${this.operation()}`);
    else {
      const operations = Array.from({ length: random.whole(1, 3) }, () => this.operation());
      fields.push(`"operations":${this.list('[', operations, ']')}`);
    }
    if (random.chance(0.3)) fields.push(this.field('idempotencyKey'));
    if (random.chance(isOrder ? 0.02 : 0.3)) fields.push('"atomic":true');
    return this.list('{', this.shuffled(fields), '}');
  }

  private operation(): string {
    const op = this.random.pick(Object.keys(FIELDS));
    const start = [`"op":"${op}"`];
    if (op !== 'cancelAll' || this.random.chance(0.5)) start.push(this.field('marketId'));
    if (op === 'amend') start.push(this.field('orderId'));
    return this.object(op, start);
  }

  private batch(): string {
    const { random } = this;
    const length = this.isOdd() ? 0 : random.whole(1, 4);
    const operations = Array.from({ length }, () => this.operation());
    const fields = [`"operations":${this.list('[', operations, ']')}`];
    if (random.chance(0.3)) fields.push(`"atomic":${random.pick(['true', 'false'])}`);
    if (random.chance(0.2)) fields.push(this.field('userId'));
    return this.list('{', this.shuffled(fields), '}');
  }

  private object(kind: string, start: readonly string[]): string {
    const { random } = this;
    const [always, often] = FIELDS[kind]!;
    const names = always.filter(() => !this.isOdd());
    if (kind === 'buy') names.push(random.pick(['amount', 'shares']));
    if (kind === 'cancel') names.push(random.pick(['orderId', 'clientOrderId']));
    if (kind === 'amend') names.push(random.pick(['shares', 'price']));
    for (const name of often) if (!names.includes(name) && random.chance(0.15)) names.push(name);
    const isOfSets = kind === 'split' || kind === 'merge';
    if ((names.includes('shares') && !isOfSets) || names.includes('timeInForce'))
      names.push('price');
    const fields = [...new Set(names)].map((name) => this.field(name));
    if (this.isOdd()) fields.push(this.field(random.pick(Object.keys(VALUES))));
    if (this.isOdd()) fields.push(`"${random.pick(EXTRA)}":1`);
    return this.list('{', this.shuffled([...start, ...fields]), '}');
  }

  private field(name: string): string {
    const [usual, odd] = VALUES[name]!;
    return `"${name}"${this.space()}:${this.space()}${this.random.pick(this.isOdd() ? odd : usual)}`;
  }

  private list(open: string, items: readonly string[], close: string): string {
    const space = this.space();
    return `${space}${open}${space}${items.join(`${space},${this.space()}`)}${this.space()}${close}${space}`;
  }

  private space(): string {
    return this.random.chance(0.9) ? '' : this.random.pick([' ', '\n', '\t', '\r\n', '  ']);
  }

  private damaged(text: string): string {
    const { random } = this;
    const at = random.whole(0, text.length - 1);
    const piece = random.pick([
      '',
      '"',
      '{',
      '}',
      ',',
      ':',
      '0',
      'e',
      '.',
      '\\',
      '\u00a0',
      '\0',
      ']',
    ]);
    return text.slice(0, at) + piece + text.slice(at + random.whole(0, 2));
  }

  private shuffled(items: readonly string[]): string[] {
    const keyed = items.map((item) => ({ item, key: this.random.next() }));
    return keyed.sort((a, b) => a.key - b.key).map(({ item }) => item);
  }

  private isOdd(): boolean {
    return this.random.chance(1 / this.oddIn);
  }
}

test(`what a reader takes is the command that the schemas make, SEED=${SEED}`, () => {
  const random = new Random(SEED);
  const bodies = [new Bodies(random, 1e9), new Bodies(random, 60), new Bodies(random, 12)];
  const counts = { taken: 0, left: 0, refused: 0 };
  for (let i = 0; i < BODIES; i++) {
    const kind = random.pick<Kind>(['buy', 'sell', 'amend', 'batch', 'stream']);
    const bytes = random.pick(bodies).body(kind);
    const command = quick(kind, bytes);
    const expected = slow(kind, bytes);
    if (command !== null) counts.taken++;
    else if (expected !== null) counts.left++;
    else counts.refused++;
    if (command !== null && !isDeepStrictEqual(command, expected))
      expect({ body: bytes.toString(), command }).toEqual({
        body: bytes.toString(),
        command: expected,
      });
  }
  // Most valid bodies are accepted, and many invalid ones were tried.
  expect(counts.taken).toBeGreaterThan(BODIES / 4);
  expect(counts.left).toBeLessThan(counts.taken / 10);
  expect(counts.refused).toBeGreaterThan(BODIES / 10);
});

test.each<[Kind, string]>([
  ['buy', '{"outcome":"UP","amount":0.05}'],
  [
    'buy',
    '{ "userId": "u12", "outcome": "DOWN", "shares": 7, "price": 0.40, "timeInForce": "GTC" }',
  ],
  ['buy', '{"outcome":"UP","amount":1,"clientOrderId":"maker-1:77.a_b"}'],
  ['batch', `{"operations":[{"op":"cancel","marketId":"${MARKET}","clientOrderId":"m-1"}]}`],
  ['sell', '{"outcome":"DOWN","shares":2.5,"price":0.4,"timeInForce":"GTC","postOnly":true}'],
  ['amend', '{"shares":2.5,"price":0.4}'],
  [
    'batch',
    `{"operations":[{"op":"amend","marketId":"${MARKET}","orderId":"o1","price":0.4},{"op":"cancelAll"},{"op":"cancelAll","marketId":"${MARKET}"}]}`,
  ],
  [
    'batch',
    `{"operations":[{"op":"buy","marketId":"${MARKET}","outcome":"UP","amount":1},{"op":"cancel","marketId":"x","orderId":"o3"},{"op":"claim","marketId":"${MARKET}"}],"atomic":true}`,
  ],
  [
    'stream',
    `{"op":"order","id":"1","operation":{"op":"buy","marketId":"${MARKET}","outcome":"UP","amount":1}}`,
  ],
  [
    'stream',
    `{"op":"batch","id":"a b","operations":[{"op":"claim","marketId":"${MARKET}"}],"atomic":true,"idempotencyKey":"k:1"}`,
  ],
])('a usual %s is taken: %s', (kind, text) => {
  const command = quick(kind, Buffer.from(text));
  expect(command).not.toBeNull();
  expect(command).toEqual(slow(kind, Buffer.from(text)));
});

test.each<[Kind, string]>([
  ['buy', '{"outcome":"UP","amount":1,"amount":2}'],
  ['buy', '{"outcome":"UP","amount":1,"\\u0061mount":2}'],
  ['batch', `{"operations":[{"op":"claim","op":"claim","marketId":"${MARKET}"}]}`],
  ['batch', `{"atomic":true,"atomic":true,"operations":[{"op":"claim","marketId":"${MARKET}"}]}`],
  ['sell', '{"userId":"u13","outcome":"UP","shares":1}'],
  ['buy', '{"outcome":"UP","amount":1}x'],
  ['amend', '{"orderId":"o5","shares":1}'],
  ['amend', '{}'],
  ['stream', `{"op":"order","operation":{"op":"claim","marketId":"${MARKET}"}}`],
  ['stream', `{"op":"order","id":"1","atomic":true,"operation":{"op":"claim","marketId":"x"}}`],
  ['stream', `{"op":"batch","id":"1","operation":{"op":"claim","marketId":"${MARKET}"}}`],
  ['stream', `{"op":"order","id":"1","id":"2","operation":{"op":"claim","marketId":"${MARKET}"}}`],
])('neither way takes a %s such as %s', (kind, text) => {
  expect(quick(kind, Buffer.from(text))).toBeNull();
  expect(slow(kind, Buffer.from(text))).toBeNull();
});

test('a batch of one operation too many is left to the schema', () => {
  const operation = `{"op":"claim","marketId":"${MARKET}"}`;
  const of = (count: number) => Buffer.from(`{"operations":[${new Array(count).fill(operation)}]}`);
  expect(quick('batch', of(100))).toEqual(slow('batch', of(100)));
  expect(quick('batch', of(101))).toBeNull();
});
