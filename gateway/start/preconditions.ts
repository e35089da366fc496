/**
 * Checks before anything is created or opened: a start that cannot succeed creates no journal and
 * does not touch an existing one.
 */
import { createServer } from 'node:net';
import { proveRoom } from '../../persistence/storage/files.js';
import { readSecret } from '../auth/secret.js';
import { withVariable } from './config-error.js';

/** What the journal may write before it frees space: its log until the next fold, and batches. */
const ROOM_BYTES = 8 * 1024 * 1024;

interface Preconditions {
  dataFolder: string;
  host: string;
  port: number;
}

/**
 * Checks the secret and the address. Creates nothing.
 * @throws ConfigError that names the variable; an Error for the address
 */
export async function checkPreconditions({ dataFolder, host, port }: Preconditions): Promise<void> {
  await withVariable('DATA_FOLDER', () => readSecret(dataFolder));
  if (port !== 0) await checkAddress(host, port);
}

/** Listens for a moment with the exclusive use that the exchange needs. */
function checkAddress(host: string, port: number): Promise<void> {
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once('error', (error) =>
      reject(new Error(`cannot listen on ${host}:${port}: ${error.message}`)),
    );
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve()));
  });
}

/**
 * Checks that the journal can start in the folder by writing and removing a file. Only for a folder
 * that has been checked, because this changes its modification time.
 * @throws an Error for the operator if there is no room; other errors pass through
 */
export function checkRoom(folder: string): void {
  try {
    proveRoom(folder, ROOM_BYTES);
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    if (!['ENOSPC', 'EDQUOT', 'EFBIG'].includes(code)) throw error;
    throw new Error(
      `${folder} has no room: the journal needs ${ROOM_BYTES / 2 ** 20} MiB to start, and they could not be written ` +
        `(${message}). Nothing was changed. Free disk space, or raise the quota or the limit (ulimit -f).`,
      { cause: error },
    );
  }
}
