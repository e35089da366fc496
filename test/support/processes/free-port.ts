/** Ports for exchanges that are started again. */
import { createServer } from 'node:net';

/** Below the ports of clients, so that no client takes an exchange's port between two starts. */
const PORTS = { first: 20_000, count: 10_000 };
/** Far from that of the test file beside it, whose process has a number close to this one's. */
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
