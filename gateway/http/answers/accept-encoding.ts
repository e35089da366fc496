/** Parses Accept-Encoding (RFC 9110, 12.5.3), as far as this server has a choice. */

/** The server's content codings; empty means uncompressed. */
export type ContentEncoding = 'br' | 'gzip' | '';

/** Codings in the server's order of preference, which decides between equal weights. */
export const ENCODINGS = ['br', 'gzip'] as const;

export interface Accepted {
  encoding: ContentEncoding;
  refusesIdentity: boolean;
}

const NO_ENCODING: Accepted = { encoding: '', refusesIdentity: false };
/** An encoding and its weight, from 0 to 1 with at most three decimals. */
const ELEMENT = /^([!#$%&'*+.^_`|~0-9a-z-]+)(?:[ \t]*;[ \t]*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?))?$/;

/** Ignores invalid elements, and a header that accepts nothing on offer, as the standard allows. */
export function acceptedEncoding(
  header: string,
  offered: readonly ContentEncoding[] = ENCODINGS,
): Accepted {
  if (header === '') return NO_ENCODING;
  const weights = weightsOf(header);
  const weightOf = (name: string, otherwise: number) =>
    weights.get(name) ?? weights.get('*') ?? otherwise;
  // Unless the client lists `identity`, it accepts uncompressed bytes but prefers any encoding.
  const identity = weightOf('identity', 0);
  let [encoding, best]: [ContentEncoding, number] = ['', 0];
  for (const each of offered) {
    const weight = each === '' ? 0 : weightOf(each, 0);
    if (weight > best && weight >= identity) [encoding, best] = [each, weight];
  }
  const isIdentityRefused = weightOf('identity', 1) === 0;
  return { encoding, refusesIdentity: isIdentityRefused && encoding !== '' };
}

function weightsOf(header: string): Map<string, number> {
  const weights = new Map<string, number>();
  for (const part of header.split(',')) {
    const [, name, weight] = ELEMENT.exec(part.trim().toLowerCase()) ?? [];
    if (name !== undefined && !weights.has(name)) weights.set(name, Number(weight ?? 1));
  }
  return weights;
}
