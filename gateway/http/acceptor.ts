/**
 * uWebSockets.js apps and their listening sockets. An acceptor distributes new connections over
 * apps in turn, including other threads' apps. Without such apps, its own app serves them.
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
/** Members missing from the types of uWebSockets.js. */
interface ChildApps {
  getDescriptor(): number;
  addChildAppDescriptor(app: number): void;
  removeChildAppDescriptor(app: number): void;
}
const { LIBUS_LISTEN_EXCLUSIVE_PORT } = uWS as unknown as { LIBUS_LISTEN_EXCLUSIVE_PORT: number };

/** Files in PEM, read when an app is created. */
export interface TlsFiles {
  /** The certificate, followed by its intermediate certificates. */
  certFile: string;
  keyFile: string;
}

/** @throws if the files cannot be used */
export function createApp(tls: TlsFiles | null): uWS.TemplatedApp {
  if (tls === null) return uWS.App();
  const { certFile, keyFile } = tls;
  try {
    return uWS.SSLApp({ cert_file_name: certFile, key_file_name: keyFile });
  } catch (error) {
    throw new Error(`${certFile} and ${keyFile} are no certificate with its key`, { cause: error });
  }
}

/** Only distributes connections: needs the TLS setting of the other apps, but no certificate. */
export function createAcceptorApp(isSecure: boolean): uWS.TemplatedApp {
  return isSecure ? uWS.SSLApp({}) : uWS.App();
}

/** Returns the number that identifies an app to {@link Acceptor.handOut}, across threads. */
export function descriptorOf(app: uWS.TemplatedApp): number {
  return (app as unknown as ChildApps).getDescriptor();
}

export class Acceptor {
  private listening: ListenSocket | null = null;
  private apps: readonly number[] = [];

  constructor(private readonly app: uWS.TemplatedApp) {}

  /** Resolves to the port. Rejects if another process listens: uWebSockets.js would share it. */
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
