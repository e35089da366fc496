/**
 * Memory for long texts, which is used again: V8 counts memory outside of its heap, and collects
 * its whole heap after every 64 MiB of it. Long answers can take that three times a second.
 *
 * Always holds: a buffer has one user at a time. Whoever takes one gives it back once, when nothing
 * reads the text any more, or leaves it to the garbage collector.
 */

/** Fits the answer to a batch of the most operations, most of which trade with few orders. */
const TEXT_BUFFER_BYTES = 128 * 1024;
const SPARE_BUFFERS_MAX = 128;
/** Copying less costs less than keeping a buffer for it. */
export const LONG_BYTES = 16 * 1024;

class TextBuffers {
  private readonly spare: Buffer<ArrayBuffer>[] = [];
  private readonly lent = new WeakSet<ArrayBufferLike>();

  take(): Buffer<ArrayBuffer> {
    const buffer = this.spare.pop() ?? Buffer.allocUnsafeSlow(TEXT_BUFFER_BYTES);
    this.lent.add(buffer.buffer);
    return buffer;
  }

  /** Gives back the buffer of a text. Nothing happens if the text is in other memory. */
  give({ buffer, byteLength }: Uint8Array): void {
    if (byteLength < LONG_BYTES) return;
    if (!this.lent.delete(buffer) || this.spare.length >= SPARE_BUFFERS_MAX) return;
    this.spare.push(Buffer.from(buffer as ArrayBuffer));
  }
}

export const textBuffers = new TextBuffers();
