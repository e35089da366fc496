/** Parses Accept-Encoding (RFC 9110, 12.5.3), as far as this server has a choice. */

/** The server's content codings; empty means uncompressed. */
export type Coding = 'br' | 'gzip' | '';

/** Codings in the server's order of preference, which decides between equal weights. */
export const CODINGS = ['br', 'gzip'] as const;

export interface Accepted {
  coding: Coding;
  refusesIdentity: boolean;
}

const NO_CODING: Accepted = { coding: '', refusesIdentity: false };
/** A coding and its weight, from 0 to 1 with at most three decimals. */
const ELEMENT = /^([!#$%&'*+.^_`|~0-9a-z-]+)(?:[ \t]*;[ \t]*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?))?$/;

/** Ignores invalid elements, and a header that accepts nothing on offer, as the standard allows. */
export function acceptedCoding(header: string, offered: readonly Coding[] = CODINGS): Accepted {
  if (header === '') return NO_CODING;
  const weights = weightsOf(header);
  const weightOf = (name: string, otherwise: number) =>
    weights.get(name) ?? weights.get('*') ?? otherwise;
  // Unless the client lists `identity`, it accepts uncompressed bytes but prefers any coding.
  const identity = weightOf('identity', 0);
  let [coding, best]: [Coding, number] = ['', 0];
  for (const each of offered) {
    const weight = each === '' ? 0 : weightOf(each, 0);
    if (weight > best && weight >= identity) [coding, best] = [each, weight];
  }
  const isIdentityRefused = weightOf('identity', 1) === 0;
  return { coding, refusesIdentity: isIdentityRefused && coding !== '' };
}

function weightsOf(header: string): Map<string, number> {
  const weights = new Map<string, number>();
  for (const part of header.split(',')) {
    const [, name, weight] = ELEMENT.exec(part.trim().toLowerCase()) ?? [];
    if (name !== undefined && !weights.has(name)) weights.set(name, Number(weight ?? 1));
  }
  return weights;
}
