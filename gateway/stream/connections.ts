/** All open connections, by user, and their number by address. */
import type { Session } from '../auth/sessions.js';
import type { AddressKey } from '../fair-use/addresses.js';
import type { Connection } from './connection.js';

export class Connections {
  private readonly open = new Set<Connection>();
  private readonly byUser = new Map<number, Set<Connection>>();
  private readonly countsByAddress = new Map<AddressKey, number>();

  get count(): number {
    return this.open.size;
  }

  [Symbol.iterator](): Iterator<Connection> {
    return this.open.values();
  }

  add(connection: Connection): void {
    this.open.add(connection);
    this.countsByAddress.set(connection.address, this.countFrom(connection.address) + 1);
    if (connection.userId !== 0) this.index(connection);
  }

  remove(connection: Connection): void {
    this.open.delete(connection);
    const left = this.countFrom(connection.address) - 1;
    if (left > 0) this.countsByAddress.set(connection.address, left);
    else this.countsByAddress.delete(connection.address);
    const others = this.byUser.get(connection.userId);
    others?.delete(connection);
    if (others?.size === 0) this.byUser.delete(connection.userId);
  }

  /** Assigns an open connection to the user of a session. */
  signIn(connection: Connection, session: Session): void {
    connection.signIn(session);
    this.index(connection);
  }

  countFrom(address: AddressKey): number {
    return this.countsByAddress.get(address) ?? 0;
  }

  countOfUser(userId: number): number {
    return this.byUser.get(userId)?.size ?? 0;
  }

  /** A copy, because closing a connection changes the set. */
  ofUser(userId: number): Connection[] {
    return [...(this.byUser.get(userId) ?? [])];
  }

  private index(connection: Connection): void {
    const { userId } = connection;
    const others = this.byUser.get(userId);
    if (others === undefined) this.byUser.set(userId, new Set([connection]));
    else others.add(connection);
  }
}
