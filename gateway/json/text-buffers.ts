/**
 * Reusable memory for long texts. V8 collects its whole heap after every 64 MiB allocated outside
 * it, which long answers can reach three times a second.
 *
 * Invariant: a buffer has one user at a time. The user gives it back once, when nothing reads the
 * text any longer, or leaves it to the garbage collector.
 */

/** Room for the answer to the largest batch, if most of its orders trade with few others. */
const TEXT_BUFFER_BYTES = 128 * 1024;
const SPARE_BUFFERS_MAX = 128;
/** Shorter texts are cheaper to copy. */
export const LONG_BYTES = 16 * 1024;

class TextBuffers {
  private readonly spare: Buffer<ArrayBuffer>[] = [];
  private readonly lent = new WeakSet<ArrayBufferLike>();

  take(): Buffer<ArrayBuffer> {
    const buffer = this.spare.pop() ?? Buffer.allocUnsafeSlow(TEXT_BUFFER_BYTES);
    this.lent.add(buffer.buffer);
    return buffer;
  }

  /** Ignores text in other memory. */
  give({ buffer, byteLength }: Uint8Array): void {
    if (byteLength < LONG_BYTES) return;
    if (!this.lent.delete(buffer) || this.spare.length >= SPARE_BUFFERS_MAX) return;
    this.spare.push(Buffer.from(buffer as ArrayBuffer));
  }
}

export const textBuffers = new TextBuffers();

export function bytesOf(text: string | Uint8Array): Uint8Array {
  return typeof text === 'string' ? Buffer.from(text) : text;
}
