/**
 * Known addresses: the last {@link KNOWN_MAX} that sent a correct password. Using that sign-in's
 * cookie from a known address renews it. Other tokens do not renew an address, because a free
 * account could use one anywhere. Known addresses have a reserve of connections, and their own
 * lane for password hashes.
 *
 * Invariant: an exchange's edges know the addresses that the exchange knows.
 */
import type { AddressKey } from './addresses.js';

/** Beyond this, the address that was confirmed longest ago is forgotten. */
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

  /** Reports all known addresses, and each new one. Returns a function that ends the reports. */
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
