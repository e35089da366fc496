/**
 * Records: everything that the types allow reads back equal; anything else is refused, or reads
 * back as something that cannot exist. No other bytes pass the check.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Engine } from '../../engine/engine.js';
import { CommandRecord, readCommand, timeOf } from '../../engine/interface/command-record.js';
import {
  BATCH_KINDS,
  COMMAND_NAMES,
  COMMANDS,
  type Command,
  type CommandName,
  type Place,
} from '../../engine/interface/commands.js';
import { Outcome, SelfTrade, TimeInForce } from '../../engine/interface/domain.js';
import { Fingerprint } from '../../engine/interface/fingerprint.js';
import { MAX_TIME_MS } from '../../engine/interface/limits.js';
import { checkRecord } from '../../engine/interface/record-check.js';
import {
  MAX_RECORD_OPERATIONS,
  MAX_TEXT_LENGTH,
  RecordBuffer,
  RecordError,
} from '../../engine/interface/records.js';
import { bytesOf } from '../../persistence/journal/format.js';

const MAX = Number.MAX_SAFE_INTEGER;
const EDGES = [
  0,
  -1,
  0.5,
  Number.NaN,
  Number.NEGATIVE_INFINITY,
  1,
  127,
  128,
  2 ** 31 - 1,
  2 ** 31,
  2 ** 32 - 1,
  2 ** 32,
  8_640_000_000_000,
  MAX - 1,
  MAX,
];
/** Any number: the engine refuses those that are not values of the field. */
const number = fc.oneof(
  fc.double().map((value) => value + 0),
  fc.constantFrom(...EDGES),
  fc.integer({ min: 0, max: MAX }),
  fc
    .integer({ min: 0, max: 53 })
    .chain((bits) => fc.integer({ min: 0, max: Math.min(MAX, 2 ** bits) })),
);
const time = fc.oneof(fc.constantFrom(0, 1_763_700_300_000), number);
const text = fc.oneof(
  fc.constantFrom(
    '',
    '\u0000',
    '\ufeffbom',
    'ü',
    '€',
    '😀',
    'ÿ',
    'Ā',
    '\ud800',
    'x'.repeat(MAX_TEXT_LENGTH),
    '€'.repeat(MAX_TEXT_LENGTH),
  ),
  fc.string({ maxLength: 64 }),
  fc.string({ unit: 'binary', maxLength: 64 }),
  fc
    .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 20 })
    .map((units) => String.fromCharCode(...units)),
);
/** The values of a field, by its place in the record. */
const VALUES: Record<Exclude<Place, 'operations'>, fc.Arbitrary<unknown>> = {
  user: fc.oneof(fc.constantFrom(0, 1, 2 ** 31 - 1, -(2 ** 31)), fc.integer()),
  key: fc.option(text, { nil: null }),
  number,
  text,
  'text or null': fc.option(text, { nil: null }),
  set: fc.boolean(),
  outcome: fc.constantFrom(...Object.values(Outcome)),
  timeInForce: fc.constantFrom(...Object.values(TimeInForce)),
  deadline: number,
  name: text,
  expiry: fc.integer({ min: 0, max: MAX_TIME_MS - 1 }),
  group: fc.oneof(
    number.filter((value) => value !== 0),
    fc.constantFrom(1, MAX),
  ),
  selfTrade: fc.constantFrom(SelfTrade.CANCEL_TAKER, SelfTrade.CANCEL_BOTH),
};
const OPTIONAL: readonly Place[] = ['name', 'expiry', 'group', 'selfTrade'];

/** Every command of a kind that its declaration allows, with each subset of its optional fields. */
function commandsOf(kind: CommandName): fc.Arbitrary<Command> {
  const all: Record<string, fc.Arbitrary<unknown>> = { kind: fc.constant(kind) };
  const fields = Object.entries<Place>(COMMANDS[kind].fields);
  for (const [field, place] of fields)
    all[field] = place === 'operations' ? fc.array(operation, { maxLength: 12 }) : VALUES[place];
  const required = fields.filter(([, place]) => !OPTIONAL.includes(place)).map(([name]) => name);
  return fc.record(all, { requiredKeys: ['kind', ...required] }) as fc.Arbitrary<Command>;
}

const operation = fc.oneof(...BATCH_KINDS.map((kind) => commandsOf(kind)));
const EVERY_KIND = COMMAND_NAMES.map((kind) => [kind, commandsOf(kind)] as const);
const anyCommand = fc.oneof(...EVERY_KIND.map(([, command]) => command));

/** fast-check makes objects without a prototype; a decoded command has the usual one. */
function plain<T>(value: T): T {
  return structuredClone(value);
}

function recordsOf(...commands: [Command, number][]): RecordBuffer {
  const records = new RecordBuffer();
  for (const [command, atMs] of commands) records.append(command, atMs);
  return records;
}

function encode(...commands: [Command, number][]): Buffer {
  return Buffer.from(bytesOf(recordsOf(...commands)));
}

/** Decodes a row as recovery does. */
function decode(bytes: Uint8Array): [Command, number][] {
  const records = new RecordBuffer(1);
  records.load(bytes);
  const commands: [Command, number][] = [];
  for (let at = 0; at < records.length; ) {
    const next = checkRecord(records, at);
    commands.push([readCommand(records, at), timeOf(records, at)]);
    const record = new CommandRecord();
    record.open(records, at);
    expect(record.next).toBe(next);
    at = next;
  }
  return commands;
}

const A_BUY: Extract<Command, { kind: 'buy' }> = {
  kind: 'buy',
  userId: 77,
  idempotencyKey: 'a-key',
  marketId: 125_417_600,
  outcome: 1,
  budgetMicros: 10_000_000,
  sizeLots: 10_000_000_000,
  priceTicks: 999,
  timeInForce: 0,
  postOnly: false,
  validUntilMs: 8_640_000_000_000,
};
const A_BATCH: Extract<Command, { kind: 'batch' }> = {
  kind: 'batch',
  userId: 77,
  idempotencyKey: null,
  operations: [{ ...A_BUY, idempotencyKey: null }],
  atomic: true,
};
const A_DEPOSIT: Command = {
  kind: 'deposit',
  userId: 1,
  amountMicros: 1,
  partner: 'bank',
  reference: 'r',
};
const A_REGISTRATION: Command = {
  kind: 'register',
  username: 'name',
  credential: '',
  referralCode: '',
  grantMicros: 1,
  partner: 'bank',
};
const AT_MS = 1_763_700_300_123;

describe('records', () => {
  it.each(EVERY_KIND)('reads every %s back as it was', (kind, command) => {
    fc.assert(
      fc.property(command, time, (value, atMs) => {
        expect(value.kind).toBe(kind);
        expect(decode(encode([value, atMs]))).toStrictEqual([[plain(value), atMs]]);
      }),
      { numRuns: 300 },
    );
  });

  it('reads many records one after another, each with its time', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(anyCommand, time), { minLength: 2, maxLength: 20 }),
        (commands) => {
          expect(decode(encode(...commands))).toStrictEqual(plain(commands));
        },
      ),
      { numRuns: 200 },
    );
  });

  it('keeps what it wrote when its buffer grows, and starts over when it is cleared', () => {
    const records = new RecordBuffer(1);
    const count = 10_000;
    for (let i = 0; i < count; i++) records.append({ ...A_BUY, budgetMicros: i }, AT_MS + i);
    expect(records.count).toBe(count);
    const written = Array.from({ length: count }, (_, i) => [
      { ...A_BUY, budgetMicros: i },
      AT_MS + i,
    ]);
    expect(decode(bytesOf(records))).toStrictEqual(written);
    records.clear();
    expect([records.count, records.length]).toEqual([0, 0]);
    records.append(A_BUY, AT_MS);
    expect(decode(bytesOf(records))).toStrictEqual([[A_BUY, AT_MS]]);
  });

  it('does not depend on what was in the buffer before', () => {
    fc.assert(
      fc.property(anyCommand, anyCommand, time, (before, command, atMs) => {
        const records = recordsOf([before, 0]);
        records.bytes.fill(0xff);
        records.clear();
        records.append(command, atMs);
        expect(Buffer.from(bytesOf(records)).equals(encode([command, atMs]))).toBe(true);
      }),
    );
  });

  it('copies a record with another time', () => {
    fc.assert(
      fc.property(anyCommand, anyCommand, time, (first, second, atMs) => {
        const from = recordsOf([first, 1], [second, 2]);
        const records = new RecordBuffer(1);
        records.appendCopy(from, checkRecord(from, 0), atMs);
        records.appendCopy(from, 0, atMs);
        expect(records.count).toBe(2);
        expect(decode(bytesOf(records))).toStrictEqual(
          plain([
            [second, atMs],
            [first, atMs],
          ]),
        );
      }),
    );
  });

  it('has one value for what cannot exist', () => {
    const cases: [object, object][] = [
      [{ budgetMicros: -0 }, { budgetMicros: 0 }],
      [{ outcome: -0 }, { outcome: 0 }],
      [{ userId: 2 ** 31 }, { userId: 0 }],
      [{ userId: 1.5 }, { userId: 0 }],
      [{ userId: Number.NaN }, { userId: 0 }],
      [{ outcome: 2 }, { outcome: 3 }],
      [{ outcome: 0.5 }, { outcome: 3 }],
      [{ timeInForce: 7 }, { timeInForce: 3 }],
      [{ timeInForce: Number.NaN }, { timeInForce: 3 }],
    ];
    for (const [odd, read] of cases) {
      expect(decode(encode([{ ...A_BUY, ...odd }, AT_MS]))).toStrictEqual([
        [{ ...A_BUY, ...read }, AT_MS],
      ]);
    }
  });

  it('takes 48 bytes for an order without a key', () => {
    expect(encode([{ ...A_BUY, idempotencyKey: null }, AT_MS]).length).toBe(48);
  });

  it('keeps the bytes of the format', () => {
    // A change of these bytes changes the format, so existing journals could not be read.
    expect(encode([A_BUY, AT_MS]).toString('hex')).toBe(
      '080970004d00000000b095ad4baa794200000000e2e69d41000000205fa002420000000000388f40' +
        '00000000d01263410a00612d6b657900',
    );
    const batch: Command = {
      kind: 'batch',
      userId: 77,
      idempotencyKey: null,
      operations: [{ kind: 'claim', userId: 77, idempotencyKey: null, marketId: 3 }],
      atomic: true,
    };
    expect(encode([batch, AT_MS]).toString('hex')).toBe(
      '110400004d00000000b095ad4baa794201000000050000000c0020004d0000000000000000000840',
    );
  });
});

describe('fingerprints', () => {
  function printOf(command: Command, atMs = AT_MS): number {
    const record = new CommandRecord();
    const records = recordsOf([A_BUY, 0], [command, atMs]);
    record.open(records, checkRecord(records, 0));
    return new Fingerprint().of(record);
  }

  const withoutKey = (command: Command): Command =>
    'idempotencyKey' in command ? { ...command, idempotencyKey: null } : command;
  const wordsOfKey = (command: Command) =>
    encode([command, 0]).length - encode([withoutKey(command), 0]).length;

  it('covers every field but the time and the key, whose length in words counts', () => {
    fc.assert(
      fc.property(anyCommand, anyCommand, (a, b) => {
        const same =
          encode([withoutKey(a), 0]).equals(encode([withoutKey(b), 0])) &&
          wordsOfKey(a) === wordsOfKey(b);
        expect(printOf(a, 1) === printOf(b, 2)).toBe(same);
      }),
    );
    const everywhere = { kind: 'cancelEverywhere', userId: 1, idempotencyKey: 'a' } as const;
    for (const idempotencyKey of ['', 'ü', 'abcdef'])
      expect(printOf({ ...everywhere, idempotencyKey })).toBe(printOf(everywhere));
    const fields = Object.entries({ ...A_BUY, validUntilMs: 5 });
    for (const [name, value] of fields) {
      if (typeof value !== 'number') continue;
      const other = { ...A_BUY, [name]: name === 'outcome' ? 0 : value + 1 } as Command;
      expect(printOf(other), name).not.toBe(printOf(A_BUY));
    }
    expect(printOf({ ...A_BUY, postOnly: true })).not.toBe(printOf(A_BUY));
    const code = { kind: 'setReferralCode', userId: 1, idempotencyKey: 'a', code: 'abc' } as const;
    expect(printOf({ ...code, idempotencyKey: 'b' })).toBe(printOf(code));
    expect(printOf({ ...code, code: 'abd' })).not.toBe(printOf(code));
    const batch = { ...A_BATCH, idempotencyKey: 'a' };
    expect(printOf({ ...batch, idempotencyKey: 'b' })).toBe(printOf(batch));
    const other = { ...A_BUY, idempotencyKey: null, priceTicks: 998 };
    expect(printOf({ ...batch, operations: [other] })).not.toBe(printOf(batch));
  });

  it('differs for numbers that differ in little', () => {
    const seen = new Set<number>();
    const count = 20_000;
    for (let i = 0; i < count; i++) seen.add(printOf({ ...A_BUY, sizeLots: i }));
    // Of 20,000 random numbers of 32 bits, about 0.05 pairs are equal.
    expect(seen.size).toBeGreaterThan(count - 10);
  });
});

describe('commands that no record can hold', () => {
  const refused: [string, unknown][] = [
    ['a missing number', { ...A_BUY, sizeLots: undefined }],
    ['a number as text', { ...A_BUY, sizeLots: '77' }],
    ['a user as text', { ...A_BUY, userId: '77' }],
    ['a missing outcome', { ...A_BUY, outcome: undefined }],
    ['an outcome as text', { ...A_BUY, outcome: 'UP' }],
    ['a missing timeInForce', { ...A_BUY, timeInForce: undefined }],
    ['a postOnly that is not a boolean', { ...A_BUY, postOnly: 1 }],
    ['a missing key', { ...A_BUY, idempotencyKey: undefined }],
    ['a key that is a number', { ...A_BUY, idempotencyKey: 1 }],
    ['a text that is too long', { ...A_BUY, idempotencyKey: 'x'.repeat(MAX_TEXT_LENGTH + 1) }],
    ['a missing text', { kind: 'listAsset' }],
    ['no partner of a deposit', { ...A_DEPOSIT, partner: null }],
    ['a partner that is a number', { ...A_REGISTRATION, partner: 3 }],
    ['an unknown kind', { kind: 'gift', userId: 1 }],
    ['the name of a method', { kind: 'toString', userId: 1 }],
    ['a batch in a batch', batchOf([batchOf([])])],
    [
      'a stake in a batch',
      batchOf([{ kind: 'stake', userId: 1, idempotencyKey: null, amountMicros: 1 }]),
    ],
    ['too many operations', batchOf(new Array(MAX_RECORD_OPERATIONS + 1).fill(A_BUY))],
    ['a bad last operation', batchOf([A_BUY, { ...A_BUY, priceTicks: null }])],
  ];

  it.each(refused)('refuses %s: nothing is written, no engine changes', (_, command) => {
    const engine = new Engine();
    const digest = engine.digest();
    expect(() => engine.apply(command as Command, AT_MS)).toThrow(RecordError);
    expect([engine.sequence, engine.digest()]).toEqual([0, digest]);
    const records = recordsOf([A_BUY, AT_MS]);
    const before = Buffer.from(bytesOf(records));
    expect(() => records.append(command as Command, AT_MS)).toThrow(RecordError);
    expect(bytesOf(records).equals(before)).toBe(true);
    expect(records.count).toBe(1);
    records.append(A_BUY, AT_MS);
    expect(decode(bytesOf(records))).toStrictEqual([
      [A_BUY, AT_MS],
      [A_BUY, AT_MS],
    ]);
  });

  it('holds the largest commands', () => {
    const text = '€'.repeat(MAX_TEXT_LENGTH);
    const key = { ...A_BUY, idempotencyKey: text };
    const largest: Command[] = [
      {
        kind: 'register',
        username: text,
        credential: text,
        referralCode: text,
        grantMicros: 1,
        partner: text,
      },
      { ...A_BATCH, idempotencyKey: text, operations: new Array(MAX_RECORD_OPERATIONS).fill(key) },
    ];
    for (const command of largest) {
      expect(decode(encode([command, AT_MS]))).toStrictEqual([[command, AT_MS]]);
    }
  });

  function batchOf(operations: unknown[]): unknown {
    return { kind: 'batch', userId: 1, idempotencyKey: null, operations, atomic: false };
  }
});

describe('bytes that are no record', () => {
  it('refuses every record that is cut short', () => {
    fc.assert(
      fc.property(anyCommand, time, (command, atMs) => {
        const bytes = encode([command, atMs]);
        for (let length = 1; length < bytes.length; length += 1 + Math.floor(bytes.length / 50)) {
          expect(() => decode(bytes.subarray(0, length))).toThrow(RecordError);
        }
      }),
      { numRuns: 200 },
    );
  });

  it('only ever refuses, or reads another command that is written in exactly this way', () => {
    let refusals = 0;
    fc.assert(
      fc.property(
        fc.array(fc.tuple(anyCommand, time), { minLength: 1, maxLength: 3 }),
        fc.nat(),
        fc.integer({ min: 1, max: 255 }),
        (commands, at, flip) => {
          const bytes = encode(...commands);
          const place = at % bytes.length;
          bytes[place] = bytes[place]! ^ flip;
          let read: [Command, number][];
          try {
            read = decode(bytes);
          } catch (error) {
            expect(error).toBeInstanceOf(RecordError);
            refusals++;
            return;
          }
          // The insignificant bits of a NaN are not kept.
          if (JSON.stringify(read).includes('null')) return;
          expect(encode(...read).equals(bytes)).toBe(true);
        },
      ),
      { numRuns: 3_000 },
    );
    expect(refusals).toBeGreaterThan(100);
  });

  /** A record of 32-bit words, each with its low byte first. */
  function ofInts(...ints: number[]): Buffer {
    return Buffer.from(Int32Array.from(ints).buffer);
  }
  const head = (kind: number, flags: number, words: number) =>
    kind | (flags << 8) | (words << 20) | 0;
  const TIME = [0, 0];
  const ZERO = [0, 0];
  const NEVER = new Int32Array(Float64Array.of(MAX_TIME_MS).buffer);

  it.each([
    ['an unknown kind', ofInts(head(24, 0, 2), 0, ...TIME), /no command has the kind 24/],
    ['kind 0', ofInts(head(0, 0, 2), 0, ...TIME), /no command has the kind 0/],
    ['flags that do not fit', ofInts(head(1, 1, 2), 0, ...TIME), /flags 1 do not fit the kind 1/],
    ['half a word', Buffer.alloc(12), /not a whole number of words/],
    ['one word', ofInts(head(1, 0, 1), 0), /end within its head/],
    ['a length of 0', ofInts(head(1, 0, 0), 0, ...TIME), /too short/],
    ['a length of 1', ofInts(head(1, 0, 1), 0, ...TIME), /too short/],
    ['a length beyond the end', ofInts(head(1, 0, 3), 0, ...TIME), /end within it/],
    ['a length that does not add up', ofInts(head(1, 0, 3), 0, ...TIME, ...ZERO), /add up/],
    ['a user where there is none', ofInts(head(1, 0, 2), 5, ...TIME), /no user/],
    [
      'the third outcome',
      ofInts(head(9, 16, 5), 1, ...TIME, ...ZERO, ...ZERO, ...ZERO),
      /flags 16/,
    ],
    [
      'a time that is left out',
      ofInts(head(9, 2, 6), 1, ...TIME, ...ZERO, ...ZERO, ...ZERO, ...NEVER),
      /a time that is left out/,
    ],
    [
      'a group that is left out',
      ofInts(head(9, 128, 6), 1, ...TIME, ...ZERO, ...ZERO, ...ZERO, ...ZERO),
      /a group that is left out/,
    ],
    ['the time -0', ofInts(head(1, 0, 2), 0, 0, 1 << 31), /-0/],
    ['a market -0', ofInts(head(12, 0, 3), 1, ...TIME, 0, 1 << 31), /-0/],
    ['a text that ends elsewhere', ofInts(head(2, 0, 3), 0, ...TIME, 14, 0), /ends within a text/],
    [
      'a text that is too long',
      ofInts(head(2, 0, 1_100), 0, ...TIME, 8_002, ...new Array(2 * 1_100 - 5).fill(0)),
      /too long/,
    ],
    [
      'two bytes where one does',
      ofInts(head(2, 0, 3), 0, ...TIME, 3 | (65 << 16), 0),
      /longer than it needs/,
    ],
    [
      'other bytes than zeros at the end',
      ofInts(head(2, 0, 3), 0, ...TIME, 2 | (65 << 16), 1),
      /zeros/,
    ],
    [
      'a batch with its length in the head',
      ofInts(head(17, 0, 3), 1, ...TIME, 0, 3),
      /another place/,
    ],
    ['a batch without its fields', ofInts(head(17, 0, 0), 1, ...TIME), /end within its fields/],
    ['a batch of length 0', ofInts(head(17, 0, 0), 1, ...TIME, 0, 0), /end within it/],
    ['a batch of a negative length', ofInts(head(17, 0, 0), 1, ...TIME, 0, -3), /end within it/],
    ['a batch beyond the end', ofInts(head(17, 0, 0), 1, ...TIME, 0, 4), /end within it/],
    ['a negative number of operations', ofInts(head(17, 0, 0), 1, ...TIME, -1, 3), /-1 operations/],
    ['too many operations', ofInts(head(17, 0, 0), 1, ...TIME, 1_001, 3), /1001 operations/],
    [
      'more in a batch than its operations',
      ofInts(head(17, 0, 0), 1, ...TIME, 0, 4, ...ZERO),
      /add up/,
    ],
    ['an operation that is missing', ofInts(head(17, 0, 0), 1, ...TIME, 1, 3), /ends before it/],
    [
      'a stake in a batch',
      ofInts(head(17, 0, 0), 1, ...TIME, 1, 5, head(13, 0, 2), 1, ...ZERO),
      /not allowed in a batch/,
    ],
    [
      'an operation beyond its batch',
      ofInts(head(17, 0, 0), 1, ...TIME, 1, 4, head(12, 0, 2), 1, ...ZERO),
      /end within it/,
    ],
  ])('refuses %s, and says so', (_, bytes, message) => {
    expect(() => decode(bytes)).toThrow(message);
    expect(() => decode(bytes)).toThrow(RecordError);
  });
});
