/**
 * The codec of commands: everything that the types allow reads back equal, everything else is
 * refused.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { BatchOperation, Command, CommandName } from '../../../engine/interface/commands.js';
import { CommandKind } from '../../../engine/interface/commands.js';
import {
  FrameError,
  FrameReader,
  FrameWriter,
  MAX_FRAME_OPERATIONS,
} from '../../../persistence/journal/frames.js';

const MAX = Number.MAX_SAFE_INTEGER;
/** Values around every encoded length, and in between. */
const EDGES = [
  0,
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
const integer = fc.oneof(
  fc.constantFrom(...EDGES),
  fc.integer({ min: 0, max: MAX }),
  fc
    .integer({ min: 0, max: 53 })
    .chain((bits) => fc.integer({ min: 0, max: Math.min(MAX, 2 ** bits) })),
);
const time = fc.oneof(
  fc.constantFrom(0, 1_763_700_300_000, 2 ** 48 - 1),
  fc.integer({ min: 0, max: 2 ** 48 - 1 }),
);
const text = fc.oneof(
  fc.constantFrom('', '\u0000', '\ufeffbom', 'ü', '€', '😀', 'x'.repeat(4096), '😀'.repeat(1024)),
  fc.string({ maxLength: 64 }),
  fc.string({ unit: 'binary', maxLength: 64 }),
);
const key = fc.option(text, { nil: null });
const outcome = fc.constantFrom(0 as const, 1 as const);
const timeInForce = fc.constantFrom(0 as const, 1 as const, 2 as const);

const user = { userId: integer, idempotencyKey: key };
const order = {
  ...user,
  marketId: integer,
  outcome,
  sizeLots: integer,
  priceTicks: integer,
  timeInForce,
  postOnly: fc.boolean(),
  validUntilMs: integer,
};
const transfer = { userId: integer, amountMicros: integer, partner: text, reference: text };

const OPERATIONS: {
  [K in BatchOperation['kind']]: fc.Arbitrary<Extract<BatchOperation, { kind: K }>>;
} = {
  buy: fc.record({ kind: fc.constant('buy'), ...order, budgetMicros: integer }),
  sell: fc.record({ kind: fc.constant('sell'), ...order }),
  cancel: fc.record({ kind: fc.constant('cancel'), ...user, marketId: integer, orderId: integer }),
  claim: fc.record({ kind: fc.constant('claim'), ...user, marketId: integer }),
};
const operation: fc.Arbitrary<BatchOperation> = fc.oneof(...Object.values(OPERATIONS));

/** By kind, so that a new kind without a test is a type error. */
const COMMANDS: { [K in CommandName]: fc.Arbitrary<Extract<Command, { kind: K }>> } = {
  ...OPERATIONS,
  advanceTime: fc.record({ kind: fc.constant('advanceTime') }),
  listAsset: fc.record({ kind: fc.constant('listAsset'), symbol: text }),
  observePrice: fc.record({
    kind: fc.constant('observePrice'),
    asset: integer,
    priceMicros: integer,
    observedAtMs: integer,
  }),
  register: fc.record({
    kind: fc.constant('register'),
    username: text,
    credential: text,
    referralCode: text,
    grantMicros: integer,
    partner: fc.option(text, { nil: null }),
  }),
  setCredential: fc.record({
    kind: fc.constant('setCredential'),
    userId: integer,
    credential: text,
  }),
  deposit: fc.record({ kind: fc.constant('deposit'), ...transfer }),
  withdraw: fc.record({ kind: fc.constant('withdraw'), ...transfer }),
  cancelAll: fc.record({ kind: fc.constant('cancelAll'), ...user, marketId: integer }),
  stake: fc.record({ kind: fc.constant('stake'), ...user, amountMicros: integer }),
  unstake: fc.record({ kind: fc.constant('unstake'), ...user, depositId: integer }),
  claimYield: fc.record({ kind: fc.constant('claimYield'), ...user, depositId: integer }),
  setReferralCode: fc.record({ kind: fc.constant('setReferralCode'), ...user, code: text }),
  batch: fc.record({
    kind: fc.constant('batch'),
    ...user,
    operations: fc.array(operation, { maxLength: 12 }),
    atomic: fc.boolean(),
  }),
};
const anyCommand: fc.Arbitrary<Command> = fc.oneof(...Object.values(COMMANDS));

/** fast-check creates records without a prototype; decoded ones have the usual one. */
function plain<T>(value: T): T {
  return structuredClone(value);
}

function encode(...commands: [Command, number][]): Buffer {
  const writer = new FrameWriter();
  for (const [command, atMs] of commands) writer.append(command, atMs);
  return Buffer.from(writer.view());
}

function decode(frames: Buffer): [Command, number][] {
  const reader = new FrameReader();
  reader.open(frames);
  const commands: [Command, number][] = [];
  for (let command = reader.next(); command !== null; command = reader.next()) {
    commands.push([command, reader.atMs]);
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
const AT_MS = 1_763_700_300_123;

describe('frames', () => {
  it('has an example of every kind', () => {
    expect(Object.keys(COMMANDS).sort()).toEqual(Object.keys(CommandKind).sort());
  });

  it.each(Object.entries(COMMANDS))('reads every %s back unchanged', (kind, command) => {
    fc.assert(
      fc.property(command as fc.Arbitrary<Command>, time, (value, atMs) => {
        expect(value.kind).toBe(kind);
        expect(decode(encode([value, atMs]))).toStrictEqual([[plain(value), atMs]]);
      }),
      { numRuns: 300 },
    );
  });

  it('reads many frames in a row, each with its time', () => {
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

  it('keeps its contents when the buffer grows, and starts over when cleared', () => {
    const writer = new FrameWriter();
    const count = 10_000;
    for (let i = 0; i < count; i++) writer.append({ ...A_BUY, budgetMicros: i }, AT_MS + i);
    expect(writer.count).toBe(count);
    expect(writer.length).toBeGreaterThan(64 * 1024);
    const read = decode(writer.view());
    expect(read.length).toBe(count);
    for (const [i, entry] of read.entries()) {
      expect(entry).toStrictEqual([{ ...A_BUY, budgetMicros: i }, AT_MS + i]);
    }
    writer.clear();
    expect([writer.count, writer.length]).toEqual([0, 0]);
    writer.append(A_BUY, AT_MS);
    expect(decode(writer.view())).toStrictEqual([[A_BUY, AT_MS]]);
  });

  it('writes an order for an amount in at most 40 bytes', () => {
    expect(encode([A_BUY, AT_MS]).length).toBeLessThanOrEqual(40);
  });

  it('writes the bytes of the format', () => {
    // Changing these bytes changes the format, and existing journals can no longer be read.
    expect(encode([A_BUY, AT_MS]).toString('hex')).toBe(
      '5bd9baa49a0108234d05612d6b657980f1e63b80c8afa025e70780ade204',
    );
    const batch: Command = {
      kind: 'batch',
      userId: 77,
      idempotencyKey: null,
      operations: [],
      atomic: true,
    };
    expect(encode([batch, AT_MS]).toString('hex')).toBe('5bd9baa49a0111404d00');
  });
});

describe('commands that cannot be written', () => {
  const refused: [string, unknown][] = [
    ['a fraction', { ...A_BUY, budgetMicros: 0.5 }],
    ['a negative', { ...A_BUY, budgetMicros: -1 }],
    ['minus zero', { ...A_BUY, budgetMicros: -0 }],
    ['2^53', { ...A_BUY, budgetMicros: 2 ** 53 }],
    ['NaN', { ...A_BUY, sizeLots: Number.NaN }],
    ['infinity', { ...A_BUY, sizeLots: Number.POSITIVE_INFINITY }],
    ['a missing number', { ...A_BUY, sizeLots: undefined }],
    ['a number as text', { ...A_BUY, userId: '77' }],
    ['an unknown outcome', { ...A_BUY, outcome: 2 }],
    ['an unknown timeInForce', { ...A_BUY, timeInForce: 3 }],
    ['a postOnly that is not a boolean', { ...A_BUY, postOnly: 1 }],
    ['a missing key', { ...A_BUY, idempotencyKey: undefined }],
    ['half a surrogate pair', { ...A_BUY, idempotencyKey: 'a\ud800' }],
    ['the other half of a pair', { ...A_BUY, idempotencyKey: '\udc00a' }],
    ['halves in the wrong order', { ...A_BUY, idempotencyKey: '\udc00\ud800' }],
    ['a text that is too long', { ...A_BUY, idempotencyKey: 'x'.repeat(4097) }],
    ['a text that is too long in bytes', { ...A_BUY, idempotencyKey: '€'.repeat(1366) }],
    ['an unknown kind', { kind: 'gift', userId: 1 }],
    ['a batch in a batch', batchOf([batchOf([])])],
    [
      'a stake in a batch',
      batchOf([{ kind: 'stake', userId: 1, idempotencyKey: null, amountMicros: 1 }]),
    ],
    ['too many operations', batchOf(new Array(MAX_FRAME_OPERATIONS + 1).fill(A_BUY))],
    ['a bad last operation', batchOf([A_BUY, { ...A_BUY, priceTicks: -1 }])],
  ];

  it.each(refused)('refuses %s and writes nothing', (_, command) => {
    const writer = new FrameWriter();
    writer.append(A_BUY, AT_MS);
    const before = Buffer.from(writer.view());
    expect(() => writer.append(command as Command, AT_MS)).toThrow(FrameError);
    expect(writer.view().equals(before)).toBe(true);
    expect(writer.count).toBe(1);
    writer.append(A_BUY, AT_MS);
    expect(decode(writer.view())).toStrictEqual([
      [A_BUY, AT_MS],
      [A_BUY, AT_MS],
    ]);
  });

  it.each([-1, 0.5, 2 ** 48, Number.NaN])('refuses the time %s', (atMs) => {
    expect(() => new FrameWriter().append(A_BUY, atMs)).toThrow(FrameError);
  });

  function batchOf(operations: unknown[]): unknown {
    return { kind: 'batch', userId: 1, idempotencyKey: null, operations, atomic: false };
  }
});

describe('bytes that are not a frame', () => {
  it('refuses every truncated frame', () => {
    fc.assert(
      fc.property(anyCommand, time, (command, atMs) => {
        const frame = encode([command, atMs]);
        for (let length = 1; length < frame.length; length += 1 + Math.floor(frame.length / 50)) {
          expect(() => decode(frame.subarray(0, length))).toThrow(FrameError);
        }
      }),
      { numRuns: 200 },
    );
  });

  it('refuses changed bytes, or reads another command with exactly these bytes', () => {
    let refusals = 0;
    fc.assert(
      fc.property(
        anyCommand,
        time,
        fc.nat(),
        fc.integer({ min: 1, max: 255 }),
        (command, atMs, at, flip) => {
          const frame = encode([command, atMs]);
          const place = at % frame.length;
          frame[place] = frame[place]! ^ flip;
          let read: [Command, number][];
          try {
            read = decode(frame);
          } catch (error) {
            expect(error).toBeInstanceOf(FrameError);
            refusals++;
            return;
          }
          expect(read).not.toStrictEqual([[plain(command), atMs]]);
        },
      ),
      { numRuns: 2_000 },
    );
    expect(refusals).toBeGreaterThan(100);
  });

  const HEAD = '7bc75a6c9a01';
  it.each([
    ['an unknown kind', `${HEAD}1200`, /no command has the kind 18/],
    ['kind 0', `${HEAD}0000`, /no command has the kind 0/],
    ['flags that do not fit', `${HEAD}0101`, /flags 1 do not fit the kind 1/],
    ['the fourth timeInForce', `${HEAD}080c010101010101`, /flags 12 do not fit the kind 8/],
    [
      'an integer that is longer than it needs to be',
      `${HEAD}0b00018000`,
      /longer than it needs to be/,
    ],
    ['an integer of 2^53', `${HEAD}0b0080808080808080100101`, /2\^53 or more/],
    ['an integer that does not end', `${HEAD}0b00ffffffffffffffffffffff`, /2\^53 or more/],
    ['a text that is not UTF-8', `${HEAD}020002c328`, /not UTF-8/],
    ['half a surrogate pair', `${HEAD}020003eda080`, /not UTF-8/],
    ['a text that is too long', `${HEAD}0200ffff7f`, /too long/],
    ['a stake in a batch', `${HEAD}110001010d000101`, /is not allowed in a batch/],
    ['too many operations', `${HEAD}110001ffff03`, /too many operations/],
  ])('refuses %s, and says so', (_, hex, message) => {
    expect(() => decode(Buffer.from(hex, 'hex'))).toThrow(message);
    expect(() => decode(Buffer.from(hex, 'hex'))).toThrow(FrameError);
  });
});
