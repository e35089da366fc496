/** Ports for programs that must have a known one, or the same again. */
import { createServer } from 'node:net';

/** Below the ports of clients, so that none takes the port of an exchange between two starts. */
const PORTS = { first: 20_000, count: 10_000 };
let tried = process.pid;

/**
 * A port of 127.0.0.1 that nobody listens on. An exchange that chose its port itself cannot have it
 * again while connections to it linger: uSockets sets SO_REUSEADDR only for a port that is given.
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
