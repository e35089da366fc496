/**
 * What the operating system lets this process have, held against what an exchange needs, before it begins. Two limits
 * would otherwise end it later and without a word: descriptors (files and connections are the same to the operating system)
 * and address space.
 *
 * Always holds: connections never take the descriptors that the journal, the follower and the snapshots need.
 * Node.js raises the limit of descriptors to the hard one before this file is loaded.
 */
import { readFileSync } from 'node:fs';
import type { ConnectionLimits } from '../fair-use/connections.js';

/** Each is Infinity where there is no limit. */
export interface ProcessLimits {
  openFiles: number;
  addressSpaceBytes: number;
}

/**
 * Descriptors that are no connection's. An exchange without clients has 35 open; a snapshot, a check of the journal and a price
 * feed take some ten more while they last.
 */
export const RESERVED_FILES = 128;
/** An exchange for fewer is of no use. */
export const CONNECTIONS_MIN = 64;

const GIBIBYTE = 2 ** 30;
/**
 * A start takes 3.5 GiB of address space, 4.1 while a snapshot is written (2.9 without a follower): the engines' room for their
 * maxima, and what Node.js sets aside for each thread. The rest is to grow in.
 */
export const ADDRESS_SPACE_GIBIBYTES = { withFollower: 6, withoutFollower: 4 } as const;

interface Report {
  userLimits?: { open_files?: { soft: number | 'unlimited' } };
}

/** Reads them. Windows has no limit on open files; only Linux tells of address space in known units, and holds to it. */
export function processLimits(): ProcessLimits {
  const { userLimits } = process.report.getReport() as Report;
  const openFiles = userLimits?.open_files?.soft ?? 'unlimited';
  return {
    openFiles: openFiles === 'unlimited' ? Number.POSITIVE_INFINITY : openFiles,
    addressSpaceBytes: process.platform === 'linux' ? addressSpaceBytes() : Number.POSITIVE_INFINITY,
  };
}

/** The smaller of the two limits that hold for memory that is set aside: of all of it, and of what is private and writable. */
function addressSpaceBytes(): number {
  const limits = readFileSync('/proc/self/limits', 'utf8');
  const soft = [...limits.matchAll(/^Max (?:address space|data size) +(\d+|unlimited)/gm)].map(([, value]) =>
    value === 'unlimited' ? Number.POSITIVE_INFINITY : Number(value),
  );
  return Math.min(...soft);
}

/** @throws saying how much is needed, when there is too little address space. */
export function checkAddressSpace({ addressSpaceBytes }: ProcessLimits, follower: boolean): void {
  const { withFollower, withoutFollower } = ADDRESS_SPACE_GIBIBYTES;
  const needed = follower ? withFollower : withoutFollower;
  if (addressSpaceBytes >= needed * GIBIBYTE) return;
  throw new Error(
    `the process may have ${(addressSpaceBytes / GIBIBYTE).toFixed(1)} GiB of address space, and needs ${needed} GiB: room ` +
      'for the maxima is set aside at the start, and memory is only taken as it is used. Raise the limit (ulimit -v, ' +
      'ulimit -d; LimitAS= and LimitDATA= of systemd), or lift it.',
  );
}

/**
 * The limits on connections that the descriptors allow: those that are configured, or fewer, each in proportion, so that one
 * address still cannot take them all.
 * @throws saying how many descriptors are needed, when there are too few for {@link CONNECTIONS_MIN}
 */
export function affordableConnections(
  { openFiles }: ProcessLimits,
  asked: ConnectionLimits,
): ConnectionLimits {
  const affordable = openFiles - RESERVED_FILES;
  if (asked.total <= affordable) return asked;
  if (affordable < CONNECTIONS_MIN) {
    const needed = RESERVED_FILES + Math.min(CONNECTIONS_MIN, asked.total);
    throw new Error(
      `the process may open ${openFiles} files, and needs ${needed} at least: ${RESERVED_FILES} for the journal, the ` +
        'follower and the snapshots, and one for each connection. Raise the limit (ulimit -n; LimitNOFILE= of systemd).',
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
