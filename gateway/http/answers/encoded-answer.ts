/**
 * Answers with an ETag, compressed if the client accepts it, for content that is large or rarely
 * changes. A client that returns the ETag in If-None-Match gets 304 while the content is the same.
 *
 * Invariant: an answer shows only durable state, whether encoded, plain or 304. A request with
 * `minSequence` gets a body, never 304, because a cached body has an older sequence.
 */
import { sharedBytes } from '../../../persistence/storage/shared-bytes.js';
import type { Call } from '../call.js';
import { acceptedEncoding } from './accept-encoding.js';
import type { EncodedBody } from './answer-encoder.js';
import { bodyTag, namesTag } from './entity-tags.js';

/** Below this size, compression saves no packet, and the trading thread computes the tag. */
const SMALL_BYTES = 1_024;

/** Answers 200 or 304. `tag`: the content's tag; if `null`, it is computed from the body. */
export function answerEncoded(
  call: Call,
  sequence: number,
  body: string | Uint8Array,
  tag: string | null = null,
): void {
  const { acceptEncoding } = call.request;
  const ifNoneMatch = call.namesSequence ? '' : call.request.ifNoneMatch;
  const bytes = typeof body === 'string' ? sharedCopy(body) : body;
  const { encoding, refusesIdentity } = acceptedEncoding(acceptEncoding);
  const isSmall = bytes.byteLength < SMALL_BYTES;
  const wanted = isSmall && !refusesIdentity ? '' : encoding;
  const known = isSmall ? (tag ?? bodyTag(bytes)) : tag;
  if (known !== null && namesTag(ifNoneMatch, known))
    send(call, sequence, { tag: known, encoding: '', bytes: null });
  else if (known !== null && wanted === '')
    send(call, sequence, { tag: known, encoding: '', bytes });
  else {
    const task = { body: bytes, tag: known, ifNoneMatch, encoding: wanted };
    call.gateway.encoder.encode(task, (encoded) => {
      if (!call.isOver) send(call, sequence, encoded);
    });
  }
}

function send(call: Call, sequence: number, { tag, encoding, bytes }: EncodedBody): void {
  if (tag !== null) call.addHeader('ETag', tag);
  call.addHeader('Vary', 'Accept-Encoding');
  if (bytes === null) {
    call.answerWhenDurable(304, '', sequence);
    return;
  }
  if (encoding !== '') call.addHeader('Content-Encoding', encoding);
  call.answerWhenDurable(200, bytes, sequence);
}

function sharedCopy(text: string): Uint8Array {
  const shared = sharedBytes(Buffer.byteLength(text));
  Buffer.from(shared.buffer).write(text);
  return shared;
}
