/**
 * All open connections by user, their counts by address, and the decision whether another may open.
 * Newcomers (users who have not paid enough fees) count by address and share half of the total
 * (engine/RULES.md, Room).
 */

import type { AddressKey } from '../access/fair-use/addresses.js';
import { mayTake } from '../access/fair-use/shares.js';
import { Tally } from '../access/fair-use/tally.js';
import type { Session } from '../access/sessions.js';
import type { Connection } from './connection.js';

/** Assured parts of the total: 1/1,000 for a newcomers' address, 1/2,000 for other users. */
const ASSURED_PART_OF_ADDRESS = 1_000;
const ASSURED_PART_OF_USER = 2_000;

export class Connections {
  private readonly open = new Set<Connection>();
  private readonly byParent = new Map<number, Set<Connection>>();
  private readonly byAddress = new Tally<AddressKey>();
  private readonly newcomers = new Set<Connection>();

  /** `isNewcomer` gets 0 without a session. `parentOf` returns the user's parent, or the user. */
  constructor(
    private readonly isNewcomer: (userId: number) => boolean,
    private readonly parentOf: (userId: number) => number,
  ) {}

  get count(): number {
    return this.open.size;
  }

  [Symbol.iterator](): Iterator<Connection> {
    return this.open.values();
  }

  add(connection: Connection): void {
    this.open.add(connection);
    this.byAddress.add(connection.address);
    if (connection.userId !== 0) this.index(connection);
    if (this.isNewcomer(connection.userId)) this.newcomers.add(connection);
  }

  remove(connection: Connection): void {
    this.open.delete(connection);
    this.newcomers.delete(connection);
    this.byAddress.remove(connection.address);
    const parentId = this.parentOf(connection.userId);
    const others = this.byParent.get(parentId);
    others?.delete(connection);
    if (others?.size === 0) this.byParent.delete(parentId);
  }

  signIn(connection: Connection, session: Session): void {
    connection.signIn(session);
    this.index(connection);
    if (!this.isNewcomer(session.userId)) this.newcomers.delete(connection);
  }

  /** Whether a user (0 if not signed in) may open a connection. `size` is the total limit. */
  mayOpen(address: AddressKey, userId: number, size: number): boolean {
    const used = this.count;
    if (!this.isNewcomer(userId)) {
      const assured = Math.ceil(size / ASSURED_PART_OF_USER);
      return mayTake({ size, used, mine: this.countOfFamily(userId), assured, isTrusted: true });
    }
    const assured = Math.ceil(size / ASSURED_PART_OF_ADDRESS);
    const asked = { mine: this.countFrom(address), assured, isTrusted: false };
    const half = { size: Math.floor(size / 2), used: this.newcomers.size };
    return mayTake({ size, used, ...asked }) && mayTake({ ...half, ...asked });
  }

  countFrom(address: AddressKey): number {
    return this.byAddress.of(address);
  }

  /** Counts the connections of the user's family: the parent and all its sub-accounts. */
  countOfFamily(userId: number): number {
    return this.byParent.get(this.parentOf(userId))?.size ?? 0;
  }

  /** A copy, because closing a connection changes the set. */
  ofUser(userId: number): Connection[] {
    const all = [...(this.byParent.get(this.parentOf(userId)) ?? [])];
    return all.filter((connection) => connection.userId === userId);
  }

  private index(connection: Connection): void {
    const parentId = this.parentOf(connection.userId);
    const others = this.byParent.get(parentId);
    if (others === undefined) this.byParent.set(parentId, new Set([connection]));
    else others.add(connection);
  }
}
