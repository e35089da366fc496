/** Client addresses as counting keys: for IPv6 the first 64 bits, since a household gets a /64. */
import { isIP } from 'node:net';

export type AddressKey = number | string;

/** Returns the key for a socket's address of 4 or 16 bytes. */
export function addressKey(bytes: ArrayBuffer): AddressKey {
  const view = new DataView(bytes);
  if (view.byteLength === 4) return view.getUint32(0);
  // A closed connection has no address.
  if (view.byteLength !== 16) return '';
  const [a, b, c] = [view.getUint32(0), view.getUint32(4), view.getUint32(8)];
  // ::ffff:1.2.3.4 is an IPv4 address on a dual-stack socket.
  if (a === 0 && b === 0 && c === 0xffff) return view.getUint32(12);
  return `${a.toString(16)}:${b.toString(16)}`;
}

/** As 16 IPv6 bytes; empty if the socket has no address. */
export function socketAddressBytes(bytes: ArrayBuffer): Uint8Array {
  if (bytes.byteLength !== 4) return new Uint8Array(bytes.slice(0));
  const mapped = new Uint8Array(16);
  mapped.fill(0xff, 10, 12);
  mapped.set(new Uint8Array(bytes), 12);
  return mapped;
}

export function addressBytesOf(text: string): Uint8Array {
  return new Uint8Array(ipv6Bytes(isIP(text) === 4 ? `::ffff:${text}` : text));
}

/** Returns the address that {@link forwardedKey} counts, as 16 IPv6 bytes. */
export function forwardedAddressBytes(header: string): Uint8Array | null {
  const text = lastOf(header);
  return isIP(text) === 0 ? null : addressBytesOf(text);
}

function lastOf(forwardedFor: string): string {
  return withoutPort(forwardedFor.slice(forwardedFor.lastIndexOf(',') + 1).trim());
}

/** Uses the last address in X-Forwarded-For, because clients can forge the others. */
export function forwardedKey(header: string): AddressKey | null {
  const text = lastOf(header);
  switch (isIP(text)) {
    case 4:
      return ipv4Number(text);
    case 6:
      return addressKey(ipv6Bytes(text));
    default:
      return null;
  }
}

function withoutPort(text: string): string {
  return /^\[([^\]]*)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text;
}

function ipv4Number(text: string): number {
  return text.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
}

function ipv6Bytes(text: string): ArrayBuffer {
  const [head, tail] = text.replace(/%.*$/, '').split('::') as [string, string?];
  const before = groupsOf(head);
  const after = tail === undefined ? [] : groupsOf(tail);
  const zeros = new Array<number>(8 - before.length - after.length).fill(0);
  const view = new DataView(new ArrayBuffer(16));
  [...before, ...zeros, ...after].forEach((group, i) => {
    view.setUint16(i * 2, group);
  });
  return view.buffer;
}

/** The last two groups may be written as an IPv4 address. */
function groupsOf(text: string): number[] {
  if (text === '') return [];
  return text.split(':').flatMap((part) => {
    if (!part.includes('.')) return [Number.parseInt(part, 16)];
    const number = ipv4Number(part);
    return [Math.floor(number / 65_536), number % 65_536];
  });
}
