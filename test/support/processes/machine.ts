/** The benchmark's machine and disk, and folders for temporary files. */
import {
  closeSync,
  fdatasyncSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { statfs } from 'node:fs/promises';
import { cpus, release, totalmem, type } from 'node:os';
import { join } from 'node:path';
import { Samples } from './samples.js';

export type Machine = ReturnType<typeof describeMachine>;

export function describeMachine() {
  const processors = cpus();
  return {
    cpu: processors[0]?.model.trim() ?? 'unknown',
    cores: processors.length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    node: process.version,
    v8: process.versions.v8,
    os: `${type()} ${release()} ${process.arch}`,
  };
}

export function machineLine({ cpu, cores, memoryGiB, node, v8, os }: Machine): string {
  return `machine   ${cpu}, ${cores} cores, ${memoryGiB} GiB; Node ${node} (V8 ${v8}); ${os}`;
}

export interface CpuUse {
  /** CPU time of this process, which generates the load. */
  clientCpuMs: number;
  /** Idle share (0 to 1) of the time of all cores. */
  idleShare: number;
}

/** Measures CPU use from its creation to the first `stop`. */
export class CpuWatch {
  private readonly cpu = process.cpuUsage();
  private readonly cores = coreTimes();
  private use: CpuUse | null = null;

  stop(): CpuUse {
    if (this.use === null) {
      const { user, system } = process.cpuUsage(this.cpu);
      const { idleMs, totalMs } = coreTimes();
      const idleShare = (idleMs - this.cores.idleMs) / (totalMs - this.cores.totalMs);
      this.use = { clientCpuMs: (user + system) / 1_000, idleShare };
    }
    return this.use;
  }
}

/** The total and idle time of all cores since the machine started. */
function coreTimes() {
  const sum = { idleMs: 0, totalMs: 0 };
  for (const { times } of cpus()) {
    sum.idleMs += times.idle;
    sum.totalMs += times.user + times.nice + times.sys + times.irq + times.idle;
  }
  return sum;
}

/** A new folder under `parent`. The caller removes it with {@link removeFolder}. */
export function makeFolder(parent: string): string {
  return mkdtempSync(join(parent, 'exchange-bench-'));
}

export function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
}

/** Runs `work` with a new folder under `parent`, and removes the folder. */
export async function inFolder<T>(
  parent: string,
  work: (folder: string) => Promise<T>,
): Promise<T> {
  const folder = makeFolder(parent);
  try {
    return await work(folder);
  } finally {
    removeFolder(folder);
  }
}

export function folderBytes(folder: string): number {
  return readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
}

/** Magic numbers of statfs(2). */
const FILE_SYSTEMS: Record<number, string> = {
  61267: 'ext4',
  16914836: 'tmpfs (memory: a sync costs nothing)',
  1481003842: 'xfs',
  2435016766: 'btrfs',
  2035054128: 'overlay',
  26985: 'nfs',
};

export interface Disk {
  fileSystem: string;
  /** Time to append 4 KiB and call fdatasync. */
  syncP50Ms: number;
  syncP99Ms: number;
}

const SYNCS = 200;

/** Measures the disk under a folder: a commit takes at least this long. */
export async function describeDisk(folder: string): Promise<Disk> {
  const { type: magic } = await statfs(folder);
  const file = openSync(join(folder, 'sync-probe'), 'w');
  const samples = new Samples(SYNCS);
  const page = Buffer.alloc(4096, 1);
  try {
    for (let i = 0; i < SYNCS; i++) {
      const startedMs = performance.now();
      writeSync(file, page);
      fdatasyncSync(file);
      samples.add(performance.now() - startedMs);
    }
  } finally {
    closeSync(file);
  }
  return {
    fileSystem: FILE_SYSTEMS[magic] ?? `type ${magic}`,
    syncP50Ms: samples.percentile(0.5),
    syncP99Ms: samples.percentile(0.99),
  };
}
