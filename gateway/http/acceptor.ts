/**
 * Apps of uWebSockets.js and their listening sockets. An acceptor hands the connections of an
 * address out to apps in turn, also in other threads; without apps, its own app serves them.
 */
import * as uWS from 'uWebSockets.js';
import { cannotListen } from './listen-addresses.js';

type Listen = (
  host: string,
  port: number,
  options: number,
  done: (socket: ListenSocket | false) => void,
) => void;
type ListenSocket = Parameters<typeof uWS.us_listen_socket_close>[0];
/** Missing from the types of uWebSockets.js. */
interface ChildApps {
  getDescriptor(): number;
  addChildAppDescriptor(app: number): void;
  removeChildAppDescriptor(app: number): void;
}
/** Missing from the types of uWebSockets.js. */
const { LIBUS_LISTEN_EXCLUSIVE_PORT } = uWS as unknown as { LIBUS_LISTEN_EXCLUSIVE_PORT: number };

/** The certificate of an address and its private key, in PEM. An app reads them when it is made. */
export interface TlsFiles {
  /** The certificate, followed by the certificates of intermediate authorities. */
  certFile: string;
  keyFile: string;
}

/** `tls` null: connections are not encrypted. @throws if the files cannot be used */
export function appWith(tls: TlsFiles | null): uWS.TemplatedApp {
  if (tls === null) return uWS.App();
  const { certFile, keyFile } = tls;
  try {
    return uWS.SSLApp({ cert_file_name: certFile, key_file_name: keyFile });
  } catch (error) {
    throw new Error(`${certFile} and ${keyFile} are no certificate with its key`, { cause: error });
  }
}

/**
 * An app that only hands out connections. It must be of the other apps' kind, and needs no
 * certificate.
 */
export function handingOut(isSecure: boolean): uWS.TemplatedApp {
  return isSecure ? uWS.SSLApp({}) : uWS.App();
}

/** The number by which {@link Acceptor.handOut} names an app, also in another thread. */
export function descriptorOf(app: uWS.TemplatedApp): number {
  return (app as unknown as ChildApps).getDescriptor();
}

export class Acceptor {
  private listening: ListenSocket | null = null;
  private apps: readonly number[] = [];

  constructor(private readonly app: uWS.TemplatedApp) {}

  /**
   * Resolves to the port. Rejects if the address is not available, or if another process listens on
   * it: uWebSockets.js would share connections with that process.
   */
  listen(host: string, port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      const listen = this.app.listen.bind(this.app) as unknown as Listen;
      listen(host, port, LIBUS_LISTEN_EXCLUSIVE_PORT, (socket) => {
        if (socket === false) {
          reject(cannotListen(host, port));
          return;
        }
        this.listening = socket;
        resolve(uWS.us_socket_local_port(socket as never));
      });
    });
  }

  /** From now on, only these apps serve new connections. */
  handOut(apps: readonly number[]): void {
    const parent = this.app as unknown as ChildApps;
    for (const app of this.apps) parent.removeChildAppDescriptor(app);
    for (const app of apps) parent.addChildAppDescriptor(app);
    this.apps = apps;
  }

  close(): void {
    if (this.listening !== null) uWS.us_listen_socket_close(this.listening);
    this.listening = null;
  }
}
