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

/** Synchronous, so that the last lines before the process ends are written. */
function standardError(): DestinationStream {
  return destination({ fd: 2, sync: true });
}
