/** What the trading thread and a socket thread tell each other besides the frames in rings. */
import type { Cancelling } from '../commands/cancels.js';
import type { ConnectionLimits } from '../fair-use/connections.js';
import type { UnsentLimits } from '../http/answers/unsent-answers.js';
import type { Verb } from '../http/router.js';

/** What a socket thread registers with uWebSockets.js. Its place in the list is its index. */
export interface RegisteredHandler {
  verb: Verb;
  path: string;
  /** Number of path parameters. */
  parameters: number;
  takesBody: boolean;
  cancelling: Cancelling;
}

/** What a socket thread is started with. */
export interface SocketThreadTask {
  /** Its row in the counts, and how many rows there are. */
  index: number;
  rows: number;
  handlers: readonly RegisteredHandler[];
  trustProxy: boolean;
  connections: ConnectionLimits;
  unsent: UnsentLimits;
  /** Memory of the rings: requests from this thread, and answers to it. */
  requests: SharedArrayBuffer;
  answers: SharedArrayBuffer;
  /** Of counts.ts. */
  counts: SharedArrayBuffer;
  /** A word that becomes 1 when the thread has ended. */
  end: SharedArrayBuffer;
}

export type ToSocketThread =
  /** There is something in a ring: a frame, or room. */
  | 'wake'
  /** Accept connections and hand them out to the threads with these apps. */
  | { host: string; port: number; apps: number[] }
  /** Accept no connections any more, and send every request as far as it has come. */
  | 'drain'
  /** Say when no client reads an answer any more. */
  | 'settle'
  /** Close all connections, and end. */
  | 'close';

export type FromSocketThread =
  | 'wake'
  /** The app of this thread. */
  | { app: number }
  /** null: the address is not available. */
  | { port: number | null }
  /** A bug. The thread does nothing more but close. */
  | { failure: string }
  | 'settled';
