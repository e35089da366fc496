/**
 * Bytes for messages between threads. They are shared, so a message neither copies nor moves them.
 * Only one thread uses them at a time: the sender must not touch them after sending.
 *
 * Moving an ArrayBuffer would detach it. Once a thread has detached a buffer, V8 checks at every
 * access to any typed array of that thread whether its buffer is detached. The engine, which
 * consists of typed arrays, is then 10 to 30% slower.
 */
export function sharedBytes(length: number): Uint8Array<SharedArrayBuffer> {
  return new Uint8Array(new SharedArrayBuffer(length));
}
