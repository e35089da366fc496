/**
 * The addresses from which a named token may be used: IP addresses and CIDR ranges, as one text in
 * the engine (separated by commas) and as rules here. IPv4 addresses are compared in their IPv6
 * form, ::ffff:a.b.c.d, so both families have one rule.
 */
import { isIP } from 'node:net';
import { addressBytesOf } from './fair-use/addresses.js';

export const ALLOWED_ADDRESSES_MAX = 16;
const IPV6_BITS = 128;
const IPV4_BITS = 32;

/** An address whose first `bits` bits a client's address must have. */
interface AddressRule {
  bytes: Uint8Array;
  bits: number;
}
export type AddressRules = readonly AddressRule[];

/** "10.0.0.0/8" or "2001:db8::1"; null: neither an address nor a range. */
function ruleOf(text: string): AddressRule | null {
  const [address, length, ...rest] = text.split('/') as [string, string?, ...string[]];
  const family = isIP(address);
  if (family === 0 || address.includes('%') || rest.length > 0) return null;
  const most = family === 4 ? IPV4_BITS : IPV6_BITS;
  if (length !== undefined && !/^(0|[1-9]\d{0,2})$/.test(length)) return null;
  const ownBits = length === undefined ? most : Number(length);
  if (ownBits > most) return null;
  return { bytes: addressBytesOf(address), bits: ownBits + IPV6_BITS - most };
}

export function isAddressRule(text: string): boolean {
  return ruleOf(text) !== null;
}

/** The rules of the engine's text; null: any address is allowed. */
export function addressRules(allowedAddresses: string): AddressRules | null {
  if (allowedAddresses === '') return null;
  return allowedAddresses.split(',').map((text) => ruleOf(text)!);
}

/** `rules` null: any address is allowed. `address`: 16 bytes, or none if it is unknown. */
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
