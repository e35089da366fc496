/** Formats listening addresses for URLs and operators. */
import { isIPv4 } from 'node:net';
import { hostname } from 'node:os';

/** All addresses of this machine. Other machines cannot connect to these two. */
const ANY = ['0.0.0.0', '::'];

export function isAnyAddress(host: string): boolean {
  return ANY.includes(host);
}

/** Whether only this machine can connect. Names other than localhost count as public. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));
}

export function schemeOf(tls: object | null): string {
  return tls === null ? 'http' : 'https';
}

export function hostAndPort(host: string, port: number): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** This process's URL for other machines. `advertiseAddress` replaces {@link ANY}. */
export function servingUrl(
  { host, advertiseAddress, tls }: { host: string; advertiseAddress: string; tls: object | null },
  port: number,
): string {
  if (!isAnyAddress(host)) return `${schemeOf(tls)}://${hostAndPort(host, port)}`;
  return `${schemeOf(tls)}://${advertiseAddress.replace(/:\d+$/, '') || hostname()}:${port}`;
}

export function cannotListen(host: string, port: number): Error {
  const address = hostAndPort(host, port);
  return new Error(`cannot listen on ${address}: is the port in use, or is the address not local?`);
}
