/**
 * The last {@link KNOWN_MAX} addresses from which a correct password was sent. Only a request with
 * a valid session cookie renews one, because a free account can use a token anywhere. Known
 * addresses have a reserve of connections, and their own lane for password hashes.
 *
 * Invariant: an exchange's edges know the same addresses as the exchange.
 */
import type { AddressKey } from './addresses.js';

const KNOWN_MAX = 10_000;

export class KnownAddresses {
  private readonly known = new Set<AddressKey>();
  private readonly listeners = new Set<(address: AddressKey) => void>();

  has(address: AddressKey): boolean {
    return this.known.has(address);
  }

  add(address: AddressKey): void {
    this.confirm(address);
    for (const listener of this.listeners) listener(address);
  }

  renew(address: AddressKey): void {
    if (this.known.has(address)) this.confirm(address);
  }

  /** Reports all known addresses, then each new one. Returns a function that stops the reports. */
  tell(listener: (address: AddressKey) => void): () => void {
    for (const address of this.known) listener(address);
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  private confirm(address: AddressKey): void {
    this.known.delete(address);
    this.known.add(address);
    if (this.known.size > KNOWN_MAX) this.known.delete(this.known.values().next().value!);
  }
}
