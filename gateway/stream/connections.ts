/** All open connections, and those of each user. */
import type { Session } from '../auth/sessions.js';
import type { Connection } from './connection.js';

export class Connections {
  private readonly open = new Set<Connection>();
  private readonly byUser = new Map<number, Set<Connection>>();

  get count(): number {
    return this.open.size;
  }

  [Symbol.iterator](): Iterator<Connection> {
    return this.open.values();
  }

  add(connection: Connection): void {
    this.open.add(connection);
    if (connection.userId !== 0) this.index(connection);
  }

  remove(connection: Connection): void {
    this.open.delete(connection);
    const others = this.byUser.get(connection.userId);
    others?.delete(connection);
    if (others?.size === 0) this.byUser.delete(connection.userId);
  }

  /** An open connection is a user's from now on. */
  signIn(connection: Connection, session: Session): void {
    connection.userId = session.userId;
    connection.tokenVersion = session.version;
    this.index(connection);
  }

  /** A copy: ending one of them changes the list. */
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
