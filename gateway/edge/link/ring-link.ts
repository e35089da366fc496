/**
 * Frames between an edge's thread and the core, over two rings of shared memory. Both ends belong
 * to one process and version. A frame too large for a ring travels in parts.
 *
 * Invariant: each frame arrives once, in order. An idle side sleeps until a message wakes it.
 */
import type { BlockSink, Frame, FrameBlock, FrameReader } from './frames.js';
import { FRAME_BYTES_MAX, RING_BYTES, RingReader, RingWriter } from './ring.js';

/** The kind of a part, not used by frames. The whole frame's length (4 bytes) follows. */
const PART = 0xff;
const PART_HEAD_BYTES = 5;
const PART_BYTES = FRAME_BYTES_MAX / 2;
const NOTHING: Uint8Array = new Uint8Array(0);

export interface RingLinkOptions {
  /** Memory of the ring that this side writes, and of the ring that it reads. */
  out: SharedArrayBuffer;
  in: SharedArrayBuffer;
  /** Sends the other side a message that makes it call {@link RingLink.woken}. */
  wake: () => void;
  reader: FrameReader;
  receive: (frame: FrameReader) => void;
  /** About this many bytes of frames are handled per turn of the event loop. */
  turnBytes?: number;
  onTurn?: () => void;
}

export class RingLink implements BlockSink {
  private readonly writer: RingWriter;
  private readonly ring: RingReader;
  private readonly turnBytes: number;
  private isPlanned = false;
  /** A frame that arrives in parts, and how much of it has arrived. */
  private parts: Buffer | null = null;
  private partsLength = 0;
  private readonly partHead = Buffer.alloc(PART_HEAD_BYTES);

  constructor(private readonly options: RingLinkOptions) {
    const { wake, turnBytes = RING_BYTES } = options;
    this.writer = new RingWriter(options.out, wake);
    this.ring = new RingReader(options.in, wake);
    this.turnBytes = turnBytes;
    this.ring.sleep();
  }

  get waitingBytes(): number {
    return this.writer.waitingBytes;
  }

  send({ bytes, length }: Frame, body: Uint8Array = NOTHING): void {
    const total = length + body.byteLength;
    if (total <= FRAME_BYTES_MAX) this.writer.write(bytes, length, body);
    else this.sendParts(Buffer.concat([bytes.subarray(0, length), body], total));
  }

  sendBlock(block: FrameBlock): void {
    if (this.writer.writeAll(block.content)) return;
    for (const frame of block.frames()) this.send(frame);
  }

  /** Call when the other side has sent something or made room. */
  woken(): void {
    if (!this.isPlanned) this.work();
  }

  readonly work = (): void => {
    this.isPlanned = false;
    this.writer.retry();
    if (this.ring.read(this.frame, this.turnBytes)) this.options.onTurn?.();
    if (!this.ring.sleep()) this.plan();
  };

  private plan(): void {
    if (this.isPlanned) return;
    this.isPlanned = true;
    setImmediate(this.work);
  }

  private readonly frame = (from: number, to: number): void => {
    const { bytes } = this.ring;
    if (bytes[from] === PART) this.collect(bytes, from, to);
    else this.options.receive(this.options.reader.open(bytes, from, to));
  };

  private sendParts(frame: Buffer): void {
    const { partHead } = this;
    partHead[0] = PART;
    partHead.writeUInt32LE(frame.length, 1);
    for (let at = 0; at < frame.length; at += PART_BYTES)
      this.writer.write(partHead, PART_HEAD_BYTES, frame.subarray(at, at + PART_BYTES));
  }

  private collect(bytes: Buffer, from: number, to: number): void {
    const contentFrom = from + PART_HEAD_BYTES;
    this.parts ??= Buffer.allocUnsafeSlow(bytes.readUInt32LE(from + 1));
    bytes.copy(this.parts, this.partsLength, contentFrom, to);
    this.partsLength += to - contentFrom;
    if (this.partsLength < this.parts.length) return;
    const { parts } = this;
    this.parts = null;
    this.partsLength = 0;
    this.options.receive(this.options.reader.open(parts, 0, parts.length));
  }
}
