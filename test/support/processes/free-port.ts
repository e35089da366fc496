/** Finds ports for exchanges that are restarted. */
import { createServer } from 'node:net';

/**
 * A range below the system's ephemeral ports, so that no client takes an exchange's port between
 * two starts.
 */
const PORTS = { first: 20_000, count: 10_000 };
/**
 * Starts far from the first port of a test file that runs at the same time, whose process id is
 * close to this one.
 */
let tried = process.pid * 101;

/**
 * A free port of 127.0.0.1. A port that the system chose could not be reused by a restarted
 * exchange while connections to it linger: uSockets sets SO_REUSEADDR only for a given port.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = PORTS.first + (++tried % PORTS.count);
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!isFree) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
}
