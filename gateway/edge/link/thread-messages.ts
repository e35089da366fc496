/** Messages between the core and the thread of an edge, besides the frames in rings. */
import type { ConnectionCap, ConnectionLimits } from '../../access/fair-use/connections.js';
import type { FairUseRates } from '../../access/fair-use/fair-use.js';
import type { UnsentAnswers, UnsentLimits } from '../../http/answers/unsent-answers.js';
import type { Serving } from '../../http/gateway.js';
import type { HttpServer } from '../../http/server.js';
import type { LogLevel } from '../../observe/log.js';
import type { BacklogReadings } from '../../stream/backlogs.js';
import type { StreamLimits } from '../../stream/limits.js';

/** The data that the thread of an edge starts with. */
export interface EdgeTask {
  /** The thread's row in the counts, and the number of rows. */
  index: number;
  rows: number;
  /** The symbols of the assets, in the order of their numbers. */
  symbols: readonly string[];
  config: Serving['config'];
  /** Whether operators have their own address, which alone then serves the metrics. */
  hasOperations: boolean;
  connections: ConnectionLimits;
  unsent: UnsentLimits;
  fairUse: FairUseRates;
  /** The limits of all threads together. */
  stream: StreamLimits;
  logLevel: LogLevel;
  /** Memory of the rings: to the core, and from it. */
  toCore: SharedArrayBuffer;
  toEdge: SharedArrayBuffer;
  counts: SharedArrayBuffer;
  /** A word; 1 once the thread has ended. */
  end: SharedArrayBuffer;
}

export type ToEdgeThread =
  /** A ring has a new frame, or room. */
  | 'wake'
  /** Accept connections and hand them out to the threads with these apps. */
  | { host: string; port: number; apps: number[] }
  /** Make an app with the certificate that is in the files now. */
  | 'renewCertificate'
  /** Hand out to these apps from now on. */
  | { apps: number[] }
  /** Accept no new connections, and refuse incomplete requests. */
  | 'drain'
  /** Report when no client is reading an answer. */
  | 'settle'
  | 'close';

/** The name of no route. */
export const NO_ROUTE = '';

/** Answers without the core: "POST /batch" or {@link NO_ROUTE}, status, count. */
export type OwnAnswers = readonly (readonly [route: string, status: number, count: number])[];

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
  /** The newest app of this thread; null: it could not make one. */
  | { app: number | null }
  /** null: the address is not available. */
  | { port: number | null }
  | { answers: OwnAnswers; readings: EdgeReadings }
  /** A bug. The thread then only closes. */
  | { failure: string }
  /** The last request is done: every request is answered, or the answers are read. */
  | 'done';
