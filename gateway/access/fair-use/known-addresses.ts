/**
 * Known addresses: the last {@link KNOWN_MAX} from which a correct password was sent. What the
 * cookie of that sign-in is used for there counts as the password again; no other token does, since
 * a free account could take one anywhere. They have a reserve of connections, and a lane of their
 * own where passwords are hashed.
 *
 * Always holds: the edges of an exchange know the addresses that it knows.
 */
import type { AddressKey } from './addresses.js';

/** The one that was confirmed the longest ago is forgotten first. */
const KNOWN_MAX = 10_000;

export class KnownAddresses {
  private readonly known = new Set<AddressKey>();
  private readonly listeners = new Set<(address: AddressKey) => void>();

  has(address: AddressKey): boolean {
    return this.known.has(address);
  }

  /** A correct password was sent from there. */
  add(address: AddressKey): void {
    this.confirm(address);
    for (const listener of this.listeners) listener(address);
  }

  /** A cookie was used there. */
  renew(address: AddressKey): void {
    if (this.known.has(address)) this.confirm(address);
  }

  /** Tells all that are known, and each that is added. Returns how to end that. */
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
