/**
 * A queue of frames between two threads in shared memory: a ring of bytes with one writer and one
 * reader. It uses no locks, and no messages while both are busy.
 *
 * Invariants:
 * - Each frame is read once, in the order of writing.
 * - A frame is contiguous, so the reader can use its bytes in place.
 * - Frames that do not fit are queued in order at the writer until the reader has made room. The
 *   caller limits that queue: see {@link RingWriter.waitingBytes}.
 * - The next frame wakes a sleeping reader, and free room wakes a waiting writer. Each side
 *   announces that it waits and then checks again, so no wake-up is missed.
 */

/** Room for about 1,500 orders, yet small enough for a CPU core's caches. */
export const RING_BYTES = 1024 * 1024;
/** Limit of the queue for the ring to the core. Beyond it, a stream that sends is cut off. */
export const WAITING_BYTES_MAX = 32 * 1024 * 1024;
/** The largest frame. Larger contents travel in parts. */
export const FRAME_BYTES_MAX = RING_BYTES / 4;

const CONTROL_BYTES = 256;
/** Indexes of the control words, each in its own cache line. */
const WRITTEN = 0;
const READ = 16;
const READER_SLEEPS = 32;
const WRITER_WAITS = 48;
/** In place of a length: the rest of the ring is unused, and the next frame is at its start. */
const SKIP = -1;
const LENGTH_BYTES = 4;
const SHORT_BYTES = 256;
const NOTHING: Uint8Array = new Uint8Array(0);

export function ringMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer(CONTROL_BYTES + RING_BYTES);
}

class Ring {
  protected readonly control: Int32Array;
  protected readonly lengths: Int32Array;
  readonly bytes: Buffer;

  constructor(memory: SharedArrayBuffer) {
    this.control = new Int32Array(memory, 0, CONTROL_BYTES / 4);
    this.lengths = new Int32Array(memory, CONTROL_BYTES);
    this.bytes = Buffer.from(memory, CONTROL_BYTES);
  }
}

export class RingWriter extends Ring {
  private written = 0;
  private waiting: Uint8Array[] = [];
  private waitingTotal = 0;
  /** Whether something was written since the last wake-up, so that another one is due. */
  private isFresh = false;

  constructor(
    memory: SharedArrayBuffer,
    private readonly wakeReader: () => void,
  ) {
    super(memory);
  }

  get waitingBytes(): number {
    return this.waitingTotal;
  }

  /** Writes `headLength` bytes of `head`, then `body`. The reader is woken once per turn. */
  write(head: Uint8Array, headLength: number, body: Uint8Array = NOTHING): void {
    const length = headLength + body.byteLength;
    if (length > FRAME_BYTES_MAX) throw new Error(`a frame of ${length} bytes is too large`);
    if (this.waiting.length === 0 && this.put(head, headLength, body)) return;
    this.waiting.push(Buffer.concat([head.subarray(0, headLength), body]));
    this.waitingTotal += length;
    this.retry();
  }

  /** `frames`: each after its length, padded to words. False without contiguous room for all. */
  writeAll(frames: Uint8Array): boolean {
    const at = this.written & (RING_BYTES - 1);
    const end = Math.max(at, this.used) + frames.byteLength;
    if (this.waiting.length > 0 || end > RING_BYTES) return false;
    this.bytes.set(frames, at);
    this.isFresh = true;
    this.wrote(frames.byteLength);
    this.wakeNow();
    return true;
  }

  /** Writes queued frames while there is room. Call when the reader wakes this thread. */
  retry(): void {
    let count = 0;
    for (const frame of this.waiting) {
      if (!this.put(frame, frame.byteLength) && !this.putAtLast(frame)) break;
      this.waitingTotal -= frame.byteLength;
      count++;
    }
    if (count > 0) this.waiting.splice(0, count);
  }

  /** Wakes the reader before the end of this turn. */
  readonly wakeNow = (): void => {
    if (!this.isFresh) return;
    this.isFresh = false;
    if (Atomics.exchange(this.control, READER_SLEEPS, 0) === 1) this.wakeReader();
  };

  /** Asks to be woken when there is room, then tries again. */
  private putAtLast(frame: Uint8Array): boolean {
    Atomics.store(this.control, WRITER_WAITS, 1);
    return this.put(frame, frame.byteLength);
  }

  private put(head: Uint8Array, headLength: number, body: Uint8Array = NOTHING): boolean {
    const length = headLength + body.byteLength;
    const needed = LENGTH_BYTES + padded(length);
    let at = this.written & (RING_BYTES - 1);
    const skipped = at + needed > RING_BYTES ? RING_BYTES - at : 0;
    if (this.used + skipped + needed > RING_BYTES) return false;
    if (skipped > 0) {
      this.lengths[at >> 2] = SKIP;
      at = 0;
    }
    this.lengths[at >> 2] = length;
    const start = at + LENGTH_BYTES;
    // For short frames, a copy is cheaper than a view.
    if (headLength <= SHORT_BYTES)
      for (let i = 0; i < headLength; i++) this.bytes[start + i] = head[i]!;
    else this.bytes.set(head.subarray(0, headLength), start);
    if (body.byteLength > 0) this.bytes.set(body, start + headLength);
    this.wrote(skipped + needed);
    return true;
  }

  private get used(): number {
    return (this.written - Atomics.load(this.control, READ)) >>> 0;
  }

  private wrote(bytes: number): void {
    this.written = (this.written + bytes) | 0;
    Atomics.store(this.control, WRITTEN, this.written);
    if (!this.isFresh) setImmediate(this.wakeNow);
    this.isFresh = true;
  }
}

export class RingReader extends Ring {
  private position = 0;

  constructor(
    memory: SharedArrayBuffer,
    private readonly wakeWriter: () => void,
  ) {
    super(memory);
  }

  /** Passes frames of up to about `bytesMax` bytes, valid until the return. False if none. */
  read(handle: (start: number, end: number) => void, bytesMax = RING_BYTES): boolean {
    const { control } = this;
    const written = Atomics.load(control, WRITTEN);
    const begun = this.position;
    if (begun === written) return false;
    while (this.position !== written && (this.position - begun) >>> 0 < bytesMax) {
      const at = this.position & (RING_BYTES - 1);
      const length = this.lengths[at >> 2]!;
      if (length === SKIP) this.position = (this.position + RING_BYTES - at) | 0;
      else {
        const start = at + LENGTH_BYTES;
        handle(start, start + length);
        this.position = (this.position + LENGTH_BYTES + padded(length)) | 0;
      }
    }
    Atomics.store(control, READ, this.position);
    if (Atomics.exchange(control, WRITER_WAITS, 0) === 1) this.wakeWriter();
    return true;
  }

  /** Returns false if a frame is available. Otherwise the next frame wakes this thread. */
  sleep(): boolean {
    const { control } = this;
    Atomics.store(control, READER_SLEEPS, 1);
    if (Atomics.load(control, WRITTEN) === this.position) return true;
    Atomics.store(control, READER_SLEEPS, 0);
    return false;
  }
}

function padded(length: number): number {
  return (length + 3) & ~3;
}
