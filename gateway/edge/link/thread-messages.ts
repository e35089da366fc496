/** What the core and the thread of an edge tell each other besides the frames in rings. */
import type { ConnectionCap, ConnectionLimits } from '../../access/fair-use/connections.js';
import type { FairUseRates } from '../../access/fair-use/fair-use.js';
import type { UnsentAnswers, UnsentLimits } from '../../http/answers/unsent-answers.js';
import type { Serving } from '../../http/gateway.js';
import type { HttpServer } from '../../http/server.js';
import type { LogLevel } from '../../observe/log.js';
import type { BacklogReadings } from '../../stream/backlogs.js';
import type { StreamLimits } from '../../stream/limits.js';

/** What the thread of an edge is started with. */
export interface EdgeTask {
  /** Its row in the counts, and how many rows there are. */
  index: number;
  rows: number;
  /** The symbols of the assets, in the order of their numbers. */
  symbols: readonly string[];
  config: Serving['config'];
  /** Whether operators have an address of their own, so that the metrics are only there. */
  hasOperations: boolean;
  connections: ConnectionLimits;
  unsent: UnsentLimits;
  fairUse: FairUseRates;
  /** The limits of all threads together, as the documents show them. */
  stream: StreamLimits;
  logLevel: LogLevel;
  /** Memory of the rings: to the core, and from it. */
  toCore: SharedArrayBuffer;
  toEdge: SharedArrayBuffer;
  /** The memory of counts.ts. */
  counts: SharedArrayBuffer;
  /** A word that becomes 1 when the thread has ended. */
  end: SharedArrayBuffer;
}

export type ToEdgeThread =
  /** There is something in a ring: a frame, or room. */
  | 'wake'
  /** Accept connections and hand them out to the threads with these apps. */
  | { host: string; port: number; apps: number[] }
  /** Make an app with the certificate that is in the files now. */
  | 'renewCertificate'
  /** Hand out to these apps from now on. */
  | { apps: number[] }
  /** Accept no connections any more, and refuse what is not complete. */
  | 'drain'
  /** Say when no client reads an answer any more. */
  | 'settle'
  /** Close all connections, and end. */
  | 'close';

/** In place of the name of a route. */
export const NO_ROUTE = '';

/** Answers that an edge gave without the core: "POST /batch" or {@link NO_ROUTE}, status, count. */
export type OwnAnswers = readonly (readonly [route: string, status: number, count: number])[];

/** What the metrics show of the connections of a thread. */
export interface EdgeReadings {
  connections: Pick<ConnectionCap, 'httpCount' | 'refusedCounts'>;
  http: Pick<HttpServer<never>, 'requestsInFlight' | 'slowBodies'>;
  streams: BacklogReadings;
  /** Bytes that wait for room in the rings to the core and to the edge. */
  rings: { readonly core: number; readonly edge: number };
  unsent: Pick<UnsentAnswers, 'bytes' | 'count' | 'dropCounts'>;
}

export type FromEdgeThread =
  | 'wake'
  /** The newest app of this thread; null: it could make none. */
  | { app: number | null }
  /** null: the address is not available. */
  | { port: number | null }
  | { answers: OwnAnswers; readings: EdgeReadings }
  /** A bug. The thread does nothing more but close. */
  | { failure: string }
  /** What was asked last: every request is answered, or the answers are read. */
  | 'done';
