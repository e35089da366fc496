/** Checks before anything is created or opened: a startup that cannot succeed leaves no trace. */
import { existsSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { noJournal } from '../../persistence/journal/errors.js';
import { mustBeUsable } from '../../persistence/recovery/data-folder.js';
import { hasJournal } from '../../persistence/recovery/evidence.js';
import { noRoom, proveRoom, roomProblem } from '../../persistence/storage/room.js';
import { TroubleError } from '../../persistence/storage/trouble.js';
import { readSecrets } from '../access/secret.js';
import { hostAndPort } from '../http/listen-addresses.js';
import { checkTickFile, TickFileError, type TickFileSummary } from '../inputs/feeds/tick-file.js';
import type { InputConfig } from '../inputs/prices.js';
import { createLog } from '../observe/log.js';
import type { Config } from './config.js';
import { withVariable } from './config-error.js';
import { addressOf } from './data.js';
import { checkCertificate } from './encryption.js';

/** Creates nothing. @throws ConfigError, JournalError, or an Error that names an address */
export async function checkPreconditions(config: Config): Promise<void> {
  const { dataFolder, host, port, operationsHost, operationsPort, replicas } = config;
  await withVariable('DATA_FOLDER', async () => {
    mustBeUsable(dataFolder);
    const mayBeNew = !config.requireJournal || config.journal !== null;
    if (!mayBeNew && !(existsSync(dataFolder) && hasJournal(dataFolder)))
      throw noJournal(dataFolder);
    return readSecrets(dataFolder);
  });
  const addresses: Address[] = [{ host, port, variables: ['HOST', 'PORT'] }];
  if (operationsPort !== null) {
    const variables = ['OPERATIONS_HOST', 'OPERATIONS_PORT'] as const;
    addresses.push({ host: operationsHost, port: operationsPort, variables });
  }
  if (replicas !== null)
    addresses.push({ ...replicas, variables: ['REPLICAS_HOST', 'REPLICAS_PORT'] });
  await checkAddresses(addresses);
}

/** Checks what may change while a standby waits. @throws as {@link checkPreconditions} */
export async function checkBeforeLeading(config: Config): Promise<void> {
  const { dataFolder, replicas, journal, tls } = config;
  const room = roomProblem(dataFolder);
  if (room !== null) throw new TroubleError(room);
  await withVariable('DATA_FOLDER', () => readSecrets(dataFolder));
  if (journal !== null) addressOf(journal);
  if (tls !== null) await checkCertificate(tls, createLog('silent'));
  if (replicas !== null)
    await checkAddresses([{ ...replicas, variables: ['REPLICAS_HOST', 'REPLICAS_PORT'] }]);
}

/** Validates the whole price file; `null` if none is configured. @throws ConfigError */
export async function checkPriceFile({
  feed,
  assets,
}: InputConfig): Promise<TickFileSummary | null> {
  if (feed.kind !== 'file') return null;
  const check = () => checkTickFile(feed.path, new Set(assets));
  return withVariable('PRICE_FEED', check, [TickFileError]);
}

interface Address {
  host: string;
  /** 0 for any free port. */
  port: number;
  variables: readonly [string, string];
}

/** Listens on all addresses for a moment, exclusively, as the exchange does. */
async function checkAddresses(addresses: readonly Address[]): Promise<void> {
  const servers: Server[] = [];
  try {
    for (const address of addresses) servers.push(await listenOn(address));
  } finally {
    await Promise.all(servers.map((server) => new Promise((closed) => server.close(closed))));
  }
}

const OF_PORT = ['EADDRINUSE', 'EACCES'];

function listenOn({ host, port, variables }: Address): Promise<Server> {
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once('error', ({ code = '', message }: NodeJS.ErrnoException) => {
      const variable = variables[OF_PORT.includes(code) ? 1 : 0];
      const address = hostAndPort(host, port);
      reject(new Error(`${variable}: cannot listen on ${address}: ${message}`));
    });
    server.listen({ host, port, exclusive: true }, () => resolve(server));
  });
}

/** Changes the folder's modification time. @throws an Error for the operator if there is no room */
export function checkRoom(folder: string): void {
  try {
    proveRoom(folder);
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    if (!['ENOSPC', 'EDQUOT', 'EFBIG'].includes(code)) throw error;
    throw new TroubleError(noRoom(folder, message), error);
  }
}
