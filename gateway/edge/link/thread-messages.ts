/** Messages between the core and an edge's thread, in addition to the frames in rings. */
import type { ConnectionCap, ConnectionLimits } from '../../access/fair-use/connections.js';
import type { FairUseRates } from '../../access/fair-use/fair-use.js';
import type { UnsentAnswers, UnsentLimits } from '../../http/answers/unsent-answers.js';
import type { Serving } from '../../http/gateway.js';
import type { HttpServer } from '../../http/server.js';
import type { LogLevel } from '../../observe/log.js';
import type { BacklogReadings } from '../../stream/backlogs.js';
import type { StreamLimits } from '../../stream/limits.js';

export interface EdgeTask {
  /** The thread's row in the counts, and the number of rows. */
  index: number;
  rows: number;
  /** Asset symbols, ordered by asset number. */
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
  toCore: SharedArrayBuffer;
  toEdge: SharedArrayBuffer;
  counts: SharedArrayBuffer;
  /** One word, set to 1 once the thread has ended. */
  end: SharedArrayBuffer;
}

export type ToEdgeThread =
  /** A ring has a new frame, or room. */
  | 'wake'
  /** Accept connections and distribute them over the threads' apps. */
  | { host: string; port: number; apps: number[] }
  | 'renewCertificate'
  /** Distribute connections over these apps from now on. */
  | { apps: number[] }
  /** Accept no new connections, and refuse incomplete requests. */
  | 'drain'
  /** Report when no client is reading an answer. */
  | 'settle'
  | 'close';

export const NO_ROUTE = '';

/** Answers without the core: "POST /batch" or {@link NO_ROUTE}, status, count. */
export type OwnAnswers = readonly (readonly [route: string, status: number, count: number])[];

export interface EdgeReadings {
  connections: Pick<ConnectionCap, 'httpCount' | 'refusedCounts'>;
  http: Pick<HttpServer<never>, 'requestsInFlight' | 'slowBodies'>;
  streams: BacklogReadings;
  /** Bytes that do not fit the rings to the core and to the edge yet. */
  rings: { readonly core: number; readonly edge: number };
  unsent: Pick<UnsentAnswers, 'bytes' | 'count' | 'dropCounts'>;
}

export type FromEdgeThread =
  | 'wake'
  /** This thread's newest app; `null` if it could not be created. */
  | { app: number | null }
  /** `null` if the address is unavailable. */
  | { port: number | null }
  | { answers: OwnAnswers; readings: EdgeReadings }
  /** A bug, after which the thread only closes. */
  | { failure: string }
  | 'done';
