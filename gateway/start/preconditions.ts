/**
 * Everything that can be judged before anything is made or opened: a start that cannot succeed leaves no journal behind, and
 * one on a folder that has a journal does not touch it.
 */
import { createServer } from 'node:net';
import { createPrivateFolder, proveRoom } from '../../persistence/storage/files.js';
import { readSecret } from '../auth/secret.js';
import { type Config, withVariable } from '../config.js';

/** What the journal may write before it gives any room back: its log up to the next fold, and the batches under way. */
const ROOM_BYTES = 8 * 1024 * 1024;

/**
 * Checks what the start will need; makes the data folder, if there is none, as the last thing.
 * @throws ConfigError naming the variable; an Error for the address or for a full disk. Each is for the operator.
 */
export async function checkPreconditions(config: Config): Promise<void> {
  const { dataFolder, host, port } = config;
  await withVariable('DATA_FOLDER', () => readSecret(dataFolder));
  if (port !== 0) await checkAddress(host, port);
  await withVariable('DATA_FOLDER', () => createPrivateFolder(dataFolder));
}

/** Listens for a moment, as nobody else may while the exchange does. */
function checkAddress(host: string, port: number): Promise<void> {
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once('error', (error) => reject(new Error(`cannot listen on ${host}:${port}: ${error.message}`)));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve()));
  });
}

/**
 * Checks that the folder has room for a journal to begin with, by writing as much and removing it: only for a folder that has
 * been judged, because its time changes.
 * @throws an Error for the operator; a folder that cannot be written to at all is a matter of DATA_FOLDER.
 */
export function checkRoom(folder: string): void {
  try {
    proveRoom(folder, ROOM_BYTES);
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    if (!['ENOSPC', 'EDQUOT', 'EFBIG'].includes(code)) throw error;
    throw new Error(
      `${folder} has no room: ${ROOM_BYTES / 2 ** 20} MiB, which the journal needs to begin with, could not be written ` +
        `(${message}). Nothing was changed. Free the disk, or raise the quota or the limit (ulimit -f).`,
      { cause: error },
    );
  }
}
