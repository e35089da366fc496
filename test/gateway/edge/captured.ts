/** A link to a simulated core. Keeps the frames that an edge sends. */
import type { CoreLink } from '../../../gateway/edge/forwarder.js';
import { FrameReader, type FrameWriter } from '../../../gateway/edge/link/frames.js';

export class CapturedLink implements CoreLink {
  isOpen = true;
  /** The frames, ready to read. */
  readonly sent: FrameReader[] = [];

  send({ bytes, length }: FrameWriter, body: Uint8Array = new Uint8Array(0)): void {
    this.sent.push(frameOf(Buffer.concat([bytes.subarray(0, length), body])));
  }

  leave(): void {
    this.isOpen = false;
  }
}

export function frameOf(bytes: Buffer): FrameReader {
  return new FrameReader().open(bytes, 0, bytes.length);
}

/** A frame from the core. */
export function written(
  { bytes, length }: FrameWriter,
  body: string | Uint8Array = '',
): FrameReader {
  return frameOf(Buffer.concat([bytes.subarray(0, length), Buffer.from(body as string)]));
}
