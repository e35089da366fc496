/**
 * Limits on open files and address space: reaching them ends the process without a message.
 *
 * Invariant: connections never use the descriptors that journal, follower and snapshots need.
 */
import { readFileSync } from 'node:fs';
import type { ConnectionLimits } from '../access/fair-use/connections.js';

/** Infinity if unlimited. */
export interface ProcessLimits {
  openFiles: number;
  addressSpaceBytes: number;
}

/** Without clients 35 are open; a snapshot, a journal check and a price feed take ten more. */
const RESERVED_FILES = 128;
/** An edge's thread opens 5 or 6 files. */
const FILES_PER_EDGE_THREAD = 8;
/** An edge's thread takes 0.6 GiB of address space. */
const GIBIBYTES_PER_EDGE_THREAD = 0.75;
const CONNECTIONS_MIN = 64;

const GIBIBYTE = 2 ** 30;
/** Startup reserves 3.5 GiB, and a snapshot 0.6 GiB more. The rest is spare. */
export const ADDRESS_SPACE_GIBIBYTES = 6;

interface Report {
  userLimits?: { open_files?: { soft: number | 'unlimited' } };
}

export function reservedFiles(edgeThreads: number): number {
  return RESERVED_FILES + FILES_PER_EDGE_THREAD * edgeThreads;
}

/** Node.js has raised the soft limit on files. Only Linux enforces address space. */
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

/** Reduces all limits in proportion if needed. @throws below {@link CONNECTIONS_MIN} */
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
