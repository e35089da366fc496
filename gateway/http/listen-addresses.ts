/** Addresses as URLs and operators write them. */

/** Those that mean every address of this machine: from another one, nobody can connect to them. */
const ANY = ['0.0.0.0', '::'];

export function isAnyAddress(host: string): boolean {
  return ANY.includes(host);
}

/** `host:port`, with an IPv6 address in brackets. */
export function hostAndPort(host: string, port: number): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

export function cannotListen(host: string, port: number): Error {
  const address = hostAndPort(host, port);
  return new Error(`cannot listen on ${address}: is the port in use, or is the address not local?`);
}
