/** Who executes the orders of a stream, if not this process: on a replica, the leader. */
import type { ErrorAnswer } from '../../http/errors.js';
import type { Connection } from '../connection.js';

export interface OrdersElsewhere {
  /** A client has signed in: the leader must know if its end cancels its orders. */
  signedIn(connection: Connection): void;
  /** Order entry as it came. Returns why it is not forwarded; null: it is. */
  send(connection: Connection, json: object, bytes: Uint8Array): ErrorAnswer | null;
  /** The client has left. */
  closed(connection: Connection): void;
}
