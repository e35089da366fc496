/**
 * Limits on open files and address space, which would otherwise end the process later without a
 * message. Node.js has already raised the soft limit on open files to the hard limit.
 *
 * Invariant: connections never use the descriptors that the journal, the follower and the snapshots
 * need.
 */
import { readFileSync } from 'node:fs';
import type { ConnectionLimits } from '../access/fair-use/connections.js';

/** Infinity if unlimited. */
export interface ProcessLimits {
  openFiles: number;
  addressSpaceBytes: number;
}

/**
 * Descriptors not available to connections. An exchange without clients has 35 open; a snapshot, a
 * journal check and a price feed take about ten more.
 */
const RESERVED_FILES = 128;
/** An edge's thread opens 5 or 6 files. */
const FILES_PER_EDGE_THREAD = 8;
/** An edge's thread takes 0.6 GiB of address space. */
const GIBIBYTES_PER_EDGE_THREAD = 0.75;
const CONNECTIONS_MIN = 64;

const GIBIBYTE = 2 ** 30;
/**
 * Startup reserves 3.5 GiB for the engines and threads, and a snapshot raises this to 4.1 GiB. The
 * rest is spare.
 */
export const ADDRESS_SPACE_GIBIBYTES = 6;

interface Report {
  userLimits?: { open_files?: { soft: number | 'unlimited' } };
}

export function reservedFiles(edgeThreads: number): number {
  return RESERVED_FILES + FILES_PER_EDGE_THREAD * edgeThreads;
}

/** Windows does not limit open files. Only Linux enforces address space, in known units. */
export function processLimits(): ProcessLimits {
  const { userLimits } = process.report.getReport() as Report;
  const openFiles = userLimits?.open_files?.soft ?? 'unlimited';
  return {
    openFiles: openFiles === 'unlimited' ? Number.POSITIVE_INFINITY : openFiles,
    addressSpaceBytes:
      process.platform === 'linux' ? addressSpaceBytes() : Number.POSITIVE_INFINITY,
  };
}

/** The smaller limit on reservations: of all memory, or of private writable memory. */
function addressSpaceBytes(): number {
  const limits = readFileSync('/proc/self/limits', 'utf8');
  const soft = [...limits.matchAll(/^Max (?:address space|data size) +(\d+|unlimited)/gm)].map(
    ([, value]) => (value === 'unlimited' ? Number.POSITIVE_INFINITY : Number(value)),
  );
  return Math.min(...soft);
}

/** @throws with the amount needed */
export function checkAddressSpace({ addressSpaceBytes }: ProcessLimits, edgeThreads: number): void {
  const needed = ADDRESS_SPACE_GIBIBYTES + GIBIBYTES_PER_EDGE_THREAD * edgeThreads;
  if (addressSpaceBytes >= needed * GIBIBYTE) return;
  throw new Error(
    `the process may have ${(addressSpaceBytes / GIBIBYTE).toFixed(1)} GiB of address space but needs ${needed} GiB: space ` +
      'for all limits is reserved on startup, but memory is only used as needed. Raise or remove the limit (ulimit -v, ' +
      'ulimit -d; LimitAS= and LimitDATA= in systemd).',
  );
}

/**
 * As configured, or all limits reduced in proportion, so one address still cannot use all
 * connections.
 * @throws if there are too few descriptors for {@link CONNECTIONS_MIN}
 */
export function affordableConnections(
  { openFiles }: ProcessLimits,
  asked: ConnectionLimits,
  edgeThreads = 0,
): ConnectionLimits {
  const reserved = reservedFiles(edgeThreads);
  const affordable = openFiles - reserved;
  if (asked.total <= affordable) return asked;
  if (affordable < CONNECTIONS_MIN) {
    const needed = reserved + Math.min(CONNECTIONS_MIN, asked.total);
    throw new Error(
      `the process may open ${openFiles} files but needs at least ${needed}: ${reserved} for the journal, the ` +
        'follower and the snapshots, and one per connection. Raise the limit (ulimit -n; LimitNOFILE= in systemd).',
    );
  }
  const scaled = (count: number) =>
    count === 0 ? 0 : Math.max(1, Math.floor((count * affordable) / asked.total));
  return {
    total: affordable,
    perAddress: scaled(asked.perAddress),
    streamsPerAddress: scaled(asked.streamsPerAddress),
  };
}
