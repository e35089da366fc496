/** The messages between the trading thread and the thread that compresses. */
import type { Coding } from './accept-encoding.js';

export interface CodingTask {
  id: number;
  body: Uint8Array;
  /** null: to be made of the body. */
  tag: string | null;
  ifNoneMatch: string;
  coding: Coding;
}

export interface CodingAnswer {
  id: number;
  tag: string;
  /** null: the client has the content already. */
  bytes: Uint8Array | null;
}
