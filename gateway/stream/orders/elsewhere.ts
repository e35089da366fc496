/** Who executes the orders of a stream, if not this process: on a replica, the leader. */
import type { ErrorAnswer } from '../../http/errors.js';
import type { Connection } from '../connection.js';
import type { OrderRequest } from './order-messages.js';

export interface OrdersElsewhere {
  /** A client has signed in: the leader must know if its end cancels its orders. */
  signedIn(connection: Connection): void;
  /** Returns why it is not sent there; null: it is, and will be answered. */
  send(connection: Connection, request: OrderRequest): ErrorAnswer | null;
  /** The client has left. */
  closed(connection: Connection): void;
}
