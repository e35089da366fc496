/**
 * The log: one JSON line per entry on standard error. It never contains a token, password, partner
 * key or body; fields with a secret's name are censored here.
 */
import { EventEmitter } from 'node:events';
import { constants, fstatSync, readFileSync } from 'node:fs';
import {
  type DestinationStream,
  destination,
  type Logger,
  pino,
  stdSerializers,
  stdTimeFunctions,
} from 'pino';

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

export function createLog(level: LogLevel, stream?: DestinationStream): Log {
  const output = stream ?? bounded(STANDARD_ERROR);
  const names = [...SECRETS, ...SECRET_HEADERS];
  const paths = names.flatMap((name) => [name, name.startsWith('[') ? `*${name}` : `*.${name}`]);
  const log = pino(
    {
      level,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      // The default repeats causes that the message already has where they matter.
      serializers: { err: stdSerializers.errWithCause },
      redact: { paths, censor: '[secret]' },
    },
    output,
  );
  if (output instanceof EventEmitter) logLostLines(output, log);
  return log;
}

const STANDARD_ERROR = 2;
/** Limit on unwritten bytes, for example while the disk is full. Later lines are dropped. */
const UNWRITTEN_BYTES_MAX = 1024 * 1024;

/** Writes synchronously, for the last lines. A failed write does not stop the exchange. */
export function bounded(
  place: number | string,
  maxLength = UNWRITTEN_BYTES_MAX,
): ReturnType<typeof destination> {
  const output = destination({ dest: place, sync: true, maxLength });
  output.on('error', () => {});
  return output;
}

/** True for a file not opened for appending: truncation leaves NUL bytes. Only on Linux. */
export function leavesHoles(descriptor = STANDARD_ERROR): boolean {
  try {
    if (!fstatSync(descriptor).isFile()) return false;
    const info = readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8');
    return (Number.parseInt(/^flags:\s*(\d+)/m.exec(info)![1]!, 8) & constants.O_APPEND) === 0;
  } catch {
    return false;
  }
}

/** Counts dropped lines, and logs their number once lines can be written again. */
function logLostLines(output: EventEmitter, log: Log): void {
  let lines = 0;
  output.on('drop', () => lines++);
  output.on('drain', () => {
    if (lines === 0) return;
    const lost = lines;
    lines = 0;
    log.error({ lines: lost }, 'lines of the log were lost, because the log could not be written');
  });
}
