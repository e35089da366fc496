/** The damages that each file can suffer. */
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';

/** Paths of the same file in other folders; any may not exist. */
export interface Sources {
  older: string;
  newer: string;
  other: string;
}

interface Damage {
  /** The folder whose file is replaced; by default, the newest folder. */
  base?: 'older';
  /** Damages the file. Returns false, and leaves the file alone, if this damage does not apply. */
  apply(path: string, sources: Sources): boolean;
}

function replaceBy(source: keyof Sources): Damage['apply'] {
  return (path, sources) => {
    const from = sources[source];
    if (!existsSync(from) || readFileSync(from).equals(readFileSync(path))) return false;
    rmSync(path);
    copyFileSync(from, path);
    return true;
  };
}

/** @param change returns false if it does not apply. */
function changed(change: (bytes: Buffer) => boolean): Damage['apply'] {
  return (path) => {
    const bytes = readFileSync(path);
    if (bytes.length === 0 || !change(bytes)) return false;
    chmodSync(path, 0o600);
    writeFileSync(path, bytes);
    return true;
  };
}

function flip(share: number): Damage['apply'] {
  return changed((bytes) => {
    bytes[Math.floor((bytes.length - 1) * share)]! ^= 1;
    return true;
  });
}

function cut(share: number): Damage['apply'] {
  return (path) => {
    chmodSync(path, 0o600);
    truncateSync(path, Math.floor(statSync(path).size * share));
    return true;
  };
}

/**
 * SQLite finds rows by the keys of its inner pages. If a key is wrong, reads that begin at
 * different rows find different rows.
 */
const innerKey = changed((bytes) => {
  const page = pagesOf(bytes).find((at) => bytes[at] === TABLE_INNER);
  if (page === undefined) return false;
  // A cell is a page number of four bytes, and the key as a varint.
  let at = page + bytes.readUInt16BE(page + 12) + 4;
  while (bytes[at]! >= 0x80) at++;
  bytes[at]! ^= 1;
  return true;
});

const PAGE_BYTES = 4096;
/** The kind of a page, its first byte (https://sqlite.org/fileformat2.html). */
const TABLE_INNER = 5;

function pagesOf(file: Buffer): number[] {
  return Array.from({ length: Math.floor(file.length / PAGE_BYTES) }, (_, i) => i * PAGE_BYTES);
}

export const DAMAGES: Readonly<Record<string, Damage>> = {
  missing: {
    apply: (path) => {
      rmSync(path);
      return true;
    },
  },
  'truncated to nothing': { apply: cut(0) },
  'cut in half': { apply: cut(0.5) },
  'a bit at its start': { apply: flip(0) },
  'a bit in its middle': { apply: flip(0.5) },
  'a bit near its end': { apply: flip(0.97) },
  'a key of an inner page': { apply: innerKey },
  'an older copy': { apply: replaceBy('older') },
  'a newer copy': { base: 'older', apply: replaceBy('newer') },
  'of another exchange': { apply: replaceBy('other') },
  // In place of the file there is a folder, which even root cannot read as a file.
  unreadable: {
    apply: (path) => {
      rmSync(path);
      mkdirSync(path);
      return true;
    },
  },
};
