/**
 * The log: one JSON line per entry, to standard error. It never contains a token, a password, a
 * partner key or a body; fields named like a secret are censored here.
 */
import { type DestinationStream, destination, type Logger, pino } from 'pino';

export type Log = Logger;

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

const SECRETS = [
  'token',
  'password',
  'currentPassword',
  'newPassword',
  'credential',
  'key',
  'secret',
];
const SECRET_HEADERS = ['cookie', 'authorization', '["x-user-token"]', '["set-cookie"]'];

/** `stream`: the destination; default: standard error. */
export function createLog(level: LogLevel, stream: DestinationStream = standardError()): Log {
  const names = [...SECRETS, ...SECRET_HEADERS];
  const paths = names.flatMap((name) => [name, name.startsWith('[') ? `*${name}` : `*.${name}`]);
  return pino({ level, base: null, redact: { paths, censor: '[secret]' } }, stream);
}

/** What waits while it cannot be written, as on a full disk. Later lines are dropped. */
const UNWRITTEN_BYTES_MAX = 1024 * 1024;

/**
 * Synchronous, so that the last lines before the process ends are written. A log that cannot be
 * written does not stop the exchange.
 */
function standardError(): DestinationStream {
  const stream = destination({ fd: 2, sync: true, maxLength: UNWRITTEN_BYTES_MAX });
  stream.on('error', () => {});
  return stream;
}
