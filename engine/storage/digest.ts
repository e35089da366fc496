/**
 * The running digest: 64 bits over every result and event, in order. It tells whether two engines
 * did the same; it is no defence against deliberate changes to a journal (the journal's hash chain
 * is).
 *
 * The results and events of a command are in the memory of a WebAssembly function, which hashes
 * whole 64-bit numbers, as JavaScript cannot. The numbers of a buffer, as IEEE 754 has them, go to
 * four lanes in turn, and the last ones, up to three, to the first lane:
 *
 *   lane = rotateLeft(lane xor number, 31) × P      mod 2^64
 *
 * The length of the buffer goes first. The lanes do not wait for each other, so a processor works
 * on all four at a time. Each step is one to one in the lane for a given number, and in the number
 * for a given lane: every bit of every number counts. `toString` folds the lanes.
 */
import type { Archive } from './archive.js';
import { NumberBuffer } from './number-buffer.js';

type Memory = { readonly buffer: ArrayBuffer; grow(pages: number): number };
type AddBoth = (from: number, to: number, from2: number, to2: number) => void;
/** Of Node.js, whose types lack it. */
declare const WebAssembly: {
  Module: new (bytes: Uint8Array) => object;
  Memory: new (size: { initial: number }) => Memory;
  Instance: new (
    module: object,
    imports: { m: { m: Memory } },
  ) => { readonly exports: { readonly f: AddBoth } };
};

/** The first prime of xxHash64, as a signed LEB128; and those of xxHash32, for the folding. */
const P = [0x87, 0x95, 0xaf, 0xaf, 0x98, 0xb6, 0xde, 0x9b, 0x9e, 0x7f];
const P2 = 0x85ebca77 | 0;
const P3 = 0xc2b2ae3d | 0;

/** The lanes come first in the memory, in words of 32 bits. Then the results, and the events. */
const LANE_WORDS = 8;
const BUFFERS_FROM = 64;
const PAGE_BYTES = 65_536;
/** More than a command is known to write. Memory is taken only when it is first written to. */
const FIRST_CAPACITY = 65_536;

/** The instructions of WebAssembly that are needed. */
const Op = {
  block: [0x02, 0x40],
  loop: [0x03, 0x40],
  end: [0x0b],
  /** To the block that is so many blocks further out. */
  branch: (out: number) => [0x0c, out],
  branchIf: (out: number) => [0x0d, out],
  call: (index: number) => [0x10, index],
  get: (local: number) => [0x20, local],
  set: (local: number) => [0x21, local],
  load: (offset: number) => [0x29, 3, offset],
  store: (offset: number) => [0x37, 3, offset],
  int32: (value: number) => [0x41, value],
  int64: (leb: readonly number[]) => [0x42, ...leb],
  isAbove: [0x4b],
  add32: [0x6a],
  subtract32: [0x6b],
  multiply: [0x7e],
  xor: [0x85],
  rotateLeft: [0x89],
  extend: [0xad],
};
/** The parameters of the function, and the lanes: variables, and where they are in the memory. */
const [FROM, TO, FIRST_LANE] = [0, 1, 2];
const LANES = [0, 1, 2, 3].map((lane) => ({ lane: FIRST_LANE + lane, at: 8 * lane }));

/** The number on the stack goes to a lane. */
function mixed(lane: number): number[] {
  const rotated = [...Op.get(lane), ...Op.xor, ...Op.int64([31]), ...Op.rotateLeft];
  return [...rotated, ...Op.int64(P), ...Op.multiply, ...Op.set(lane)];
}

/** While there are so many bytes from FROM to TO, does something and goes on after them. */
function whileThere(bytes: number, body: readonly number[]): number[] {
  const next = [...Op.get(FROM), ...Op.int32(bytes), ...Op.add32];
  const isOver = [...next, ...Op.get(TO), ...Op.isAbove];
  const steps = [...isOver, ...Op.branchIf(1), ...body, ...next, ...Op.set(FROM), ...Op.branch(0)];
  return [...Op.block, ...Op.loop, ...steps, ...Op.end, ...Op.end];
}

/** Adds the numbers between two places of the memory. Begins with the types of its variables. */
const ADD_SPAN = [
  ...[1, LANES.length, 0x7e],
  ...LANES.flatMap(({ lane, at }) => [...Op.int32(0), ...Op.load(at), ...Op.set(lane)]),
  ...[...Op.get(TO), ...Op.get(FROM), ...Op.subtract32, ...Op.extend, ...mixed(FIRST_LANE)],
  ...whileThere(
    32,
    LANES.flatMap(({ lane, at }) => [...Op.get(FROM), ...Op.load(at), ...mixed(lane)]),
  ),
  ...whileThere(8, [...Op.get(FROM), ...Op.load(0), ...mixed(FIRST_LANE)]),
  ...LANES.flatMap(({ lane, at }) => [...Op.int32(0), ...Op.get(lane), ...Op.store(at)]),
  ...Op.end,
];
/** Adds two spans in one call, because calls from JavaScript cost more than those in here. */
const ADD_BOTH = [
  0,
  ...[...Op.get(0), ...Op.get(1), ...Op.call(0), ...Op.get(2), ...Op.get(3), ...Op.call(0)],
  ...Op.end,
];
const leb = (value: number): number[] =>
  value < 128 ? [value] : [(value & 127) | 128, ...leb(value >>> 7)];
const sized = (content: readonly number[]) => [...leb(content.length), ...content];
const section = (id: number, content: readonly number[]) => [id, ...sized(content)];
const INT32 = 0x7f;
/** Imports the memory `m.m`, and exports the second function as `f`. */
const MODULE = new WebAssembly.Module(
  new Uint8Array([
    ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, [2, 0x60, 2, INT32, INT32, 0, 0x60, 4, INT32, INT32, INT32, INT32, 0]),
    ...section(2, [1, 1, 0x6d, 1, 0x6d, 2, 0, 1]),
    ...section(3, [2, 0, 1]),
    ...section(7, [1, 1, 0x66, 0, 1]),
    ...section(10, [2, ...sized(ADD_SPAN), ...sized(ADD_BOTH)]),
  ]),
);

/** A buffer in the memory. */
class HashedBuffer extends NumberBuffer {
  constructor(private readonly makeRoom: (needed: number) => void) {
    super();
  }

  protected override grow(needed: number): void {
    this.makeRoom(needed);
  }
}

export class Digest {
  /** What the last command wrote. */
  readonly result = new HashedBuffer((needed) => this.makeRoom(needed));
  readonly events = new HashedBuffer((needed) => this.makeRoom(needed));
  private readonly memory = new WebAssembly.Memory({ initial: pagesFor(FIRST_CAPACITY) });
  private readonly addBoth: AddBoth;
  private capacity = FIRST_CAPACITY;
  private eventsFrom = 0;
  private lanes = new Int32Array(0);

  constructor() {
    const { exports } = new WebAssembly.Instance(MODULE, { m: { m: this.memory } });
    this.addBoth = exports.f;
    this.place();
    for (let word = 0; word < LANE_WORDS; word++) this.lanes[word] = Math.imul(word + 1, P2);
  }

  /** Adds what the last command wrote. */
  add(): void {
    const { result, events, eventsFrom, addBoth } = this;
    const resultTo = BUFFERS_FROM + 8 * result.length;
    addBoth(BUFFERS_FROM, resultTo, eventsFrom, eventsFrom + 8 * events.length);
  }

  /** 16 hex digits. */
  toString(): string {
    const words = [...this.lanes];
    return hex(folded(words)) + hex(folded(words.reverse()));
  }

  archive(archive: Archive): void {
    for (let word = 0; word < LANE_WORDS; word++)
      this.lanes[word] = archive.number(this.lanes[word]!);
  }

  private makeRoom(needed: number): void {
    const { memory, events, eventsFrom } = this;
    const before = pagesFor(this.capacity);
    while (this.capacity < needed) this.capacity *= 2;
    memory.grow(pagesFor(this.capacity) - before);
    this.place();
    new Uint8Array(memory.buffer).copyWithin(
      this.eventsFrom,
      eventsFrom,
      eventsFrom + 8 * events.length,
    );
  }

  private place(): void {
    const { memory, capacity } = this;
    this.eventsFrom = BUFFERS_FROM + 8 * capacity;
    this.lanes = new Int32Array(memory.buffer, 0, LANE_WORDS);
    this.result.place(new Float64Array(memory.buffer, BUFFERS_FROM, capacity));
    this.events.place(new Float64Array(memory.buffer, this.eventsFrom, capacity));
  }
}

function pagesFor(capacity: number): number {
  return Math.ceil((BUFFERS_FROM + 2 * 8 * capacity) / PAGE_BYTES);
}

/** Depends on all bits of all words. */
function folded(words: readonly number[]): number {
  let hash = 0;
  for (const word of words) {
    hash = Math.imul(hash ^ (hash >>> 15), P2);
    hash ^= word;
    hash = Math.imul((hash << 13) | (hash >>> 19), P3);
  }
  hash = Math.imul(hash ^ (hash >>> 15), P2);
  hash = Math.imul(hash ^ (hash >>> 13), P3);
  return hash ^ (hash >>> 16);
}

function hex(word: number): string {
  return (word >>> 0).toString(16).padStart(8, '0');
}
