/** Addresses that may use a named token. IPv4 is compared in its IPv6 form, ::ffff:a.b.c.d. */
import { isIP } from 'node:net';
import { addressBytesOf } from './fair-use/addresses.js';

export const ALLOWED_ADDRESSES_MAX = 16;
const IPV6_BITS = 128;
const IPV4_BITS = 32;

/** Matches addresses that share the first `bits` bits with `bytes`. */
interface AddressRule {
  bytes: Uint8Array;
  bits: number;
}
export type AddressRules = readonly AddressRule[];

const V4 = `(?:${Array(4).fill('(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)').join('\\.')})`;
const GROUP = '[0-9A-Fa-f]{1,4}';
/** A pattern for the IPv6 addresses with exactly `before` groups ahead of their "::". */
const v6After = (before: number): string => {
  const left = 7 - before;
  const ends = [`(?::${GROUP}){1,${left}}`, ':'];
  if (left > 1) ends.push(`(?::${GROUP}){0,${left - 2}}:${V4}`);
  return `(?:${GROUP}:){${before}}(?:${ends.join('|')})`;
};
const V6 = [
  `(?:${GROUP}:){7}(?:${GROUP}|:)`,
  `(?:${GROUP}:){6}(?:${V4}|:${GROUP}|:)`,
  ...[5, 4, 3, 2, 1].map(v6After),
  `:(?:(?::${GROUP}){0,5}:${V4}|(?::${GROUP}){1,7}|:)`,
].join('|');
/** Matches an address or range. Accepts what `isIP` accepts, without zones. Also works in RE2. */
export const ADDRESS_RULE = new RegExp(
  `^(?:${V4}(?:/(?:3[0-2]|[12]?\\d))?|(?:${V6})(?:/(?:12[0-8]|1[01]\\d|[1-9]?\\d))?)$`,
);

function ruleOf(text: string): AddressRule {
  const [address, length] = text.split('/') as [string, string?];
  const most = isIP(address) === 4 ? IPV4_BITS : IPV6_BITS;
  const ownBits = length === undefined ? most : Number(length);
  return { bytes: addressBytesOf(address), bits: ownBits + IPV6_BITS - most };
}

export function addressRules(allowedAddresses: string): AddressRules | null {
  if (allowedAddresses === '') return null;
  return allowedAddresses.split(',').map(ruleOf);
}

/** `rules` null allows any address. `address` has 16 bytes, or 0 if unknown. */
export function isAllowed(rules: AddressRules | null, address: Uint8Array): boolean {
  if (rules === null) return true;
  return address.length === IPV6_BITS / 8 && rules.some((rule) => fits(rule, address));
}

function fits({ bytes, bits }: AddressRule, address: Uint8Array): boolean {
  for (let i = 0, left = bits; left > 0; i++, left -= 8) {
    const ignored = Math.max(0, 8 - left);
    if ((bytes[i]! ^ address[i]!) >>> ignored !== 0) return false;
  }
  return true;
}
