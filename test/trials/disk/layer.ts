/**
 * Runs the built program on a watched or failing disk (disk.c). The layer is compiled once per run,
 * and needs LD_PRELOAD, so it works on Linux.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const SOURCE = fileURLToPath(new URL('disk.c', import.meta.url));

/** A fault: the n-th operation of a kind on files whose path contains `path` fails. */
export interface Fault {
  kind: 'open' | 'read' | 'write' | 'sync';
  path: string;
  /** The number of the operation, from 1. */
  n: number;
  /** Whether every operation from the n-th on fails. */
  isLasting?: boolean;
  /** An error, half of the work (`short`), or a wait, such as `30s`. */
  what: 'EIO' | 'ENOSPC' | 'EDQUOT' | 'short' | `${number}s`;
}

/** Why the layer cannot be compiled here; null if it can. */
export function whyNoLayer(): string | null {
  if (process.platform !== 'linux') return 'It needs Linux.';
  return spawnSync('cc', ['--version']).status === 0 ? null : 'It needs a C compiler (cc).';
}

export class DiskLayer {
  private readonly folder = mkdtempSync(join(tmpdir(), 'exchange-disk-'));
  private readonly library = join(this.folder, 'disk.so');

  constructor() {
    const options = ['-O2', '-shared', '-fPIC', '-o', this.library, SOURCE, '-ldl'];
    execFileSync('cc', options, { stdio: ['ignore', 'inherit', 'inherit'] });
  }

  /** The environment of a program whose data folder is watched. */
  variables(folder: string, options: { log?: string; fault?: Fault }): Record<string, string> {
    const { log, fault } = options;
    return {
      LD_PRELOAD: this.library,
      DISK_FOLDER: folder,
      ...(log === undefined ? {} : { DISK_LOG: log }),
      ...(fault === undefined ? {} : { DISK_FAULT: textOf(fault) }),
    };
  }

  remove(): void {
    rmSync(this.folder, { recursive: true });
  }
}

export function textOf({ kind, path, n, isLasting = false, what }: Fault): string {
  return `${kind}:${path}:${n}${isLasting ? '+' : ''}:${what}`;
}
