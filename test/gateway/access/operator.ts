/** An operator of a TestServer: a key in the configuration, and requests to the operators' port. */
import { createHash } from 'node:crypto';
import { request } from 'undici';
import type { TestServer } from '../../support/server.js';

export const KEY = 'operator-key-of-the-tests';
export const CONFIG = {
  operationsPort: 0,
  operatorKeys: [{ holder: 'olga', sha256: createHash('sha256').update(KEY).digest() }],
};

export interface Reply {
  status: number;
  text: string;
  /** null: not JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read answers field by field
  json: any;
}

/** Returns a function that sends a request to the present server's operators' port. */
export const operatorOf =
  (server: () => TestServer) =>
  async (
    method: 'GET' | 'POST',
    path: string,
    body?: object,
    authorization = `Bearer ${KEY}`,
  ): Promise<Reply> => {
    const url = `http://127.0.0.1:${server().exchange.operationsPort}/api${path}`;
    const response = await request(url, {
      method,
      headers: { authorization, 'content-type': 'application/json' },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const text = await response.body.text();
    const isJson = `${response.headers['content-type']}`.startsWith('application/json');
    return { status: response.statusCode, text, json: isJson ? JSON.parse(text) : null };
  };
