/**
 * The log of a watched disk (disk.c), and the states in which a power cut could leave the folder.
 * The rules are stricter than any file system's: data of a file is safe only if it was written
 * before the start of a completed sync of the file; a change of names only if it was made before
 * the start of a completed sync of the folder. Any other write may be missing, the last one may be
 * torn, and changes of names may end at any point.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Random } from '../../support/workload/random.js';

/** The kinds of entries, in the order of disk.c. */
const KINDS = [
  'none',
  'create',
  'open',
  'write',
  'truncate',
  'syncStart',
  'syncEnd',
  'rename',
  'unlink',
  'makeFolder',
  'send',
  'read',
] as const;
export type EntryKind = (typeof KINDS)[number];
const HEAD_BYTES = 32;
const SECTOR_BYTES = 512;

export interface Entry {
  kind: EntryKind;
  /** The descriptor of a file or a socket. */
  file: number;
  offset: number;
  payload: Buffer;
}

/** The contents of one file, whatever its name. */
interface Node {
  changes: { at: number; entry: Entry }[];
  /** Changes before this entry are on disk. */
  safeBefore: number;
}

type Names = Map<string, Node | 'folder'>;

interface NameChange {
  at: number;
  /** The folder whose sync makes it safe. */
  folder: string;
  apply: (names: Names) => void;
}

/** How much of the unsafe data is on disk. */
export type Luck = 'nothing' | 'everything' | Random;

export function readDiskLog(path: string): Entry[] {
  const bytes = readFileSync(path);
  const entries: Entry[] = [];
  for (let at = 0; at + HEAD_BYTES <= bytes.length; ) {
    const length = bytes.readUInt32LE(at + 16);
    const payload = bytes.subarray(at + HEAD_BYTES, at + HEAD_BYTES + length);
    entries.push({
      kind: KINDS[bytes.readUInt32LE(at)]!,
      file: bytes.readUInt32LE(at + 4),
      offset: Number(bytes.readBigUInt64LE(at + 8)),
      payload,
    });
    at += HEAD_BYTES + length;
  }
  return entries;
}

/** The disk after the first `cut` entries of a log. */
export class DiskAt {
  private readonly live: Names = new Map();
  private readonly files = new Map<number, { node: Node; name: string }>();
  private readonly nameChanges: NameChange[] = [];
  private readonly namesSafeBefore = new Map<string, number>();
  private readonly syncing = new Map<number, number[]>();

  constructor(entries: readonly Entry[], cut: number) {
    for (let at = 0; at < cut; at++) this.take(entries[at]!, at);
  }

  private take(entry: Entry, at: number): void {
    const name = entry.payload.toString('latin1');
    if (entry.kind === 'create') this.create(name, at);
    else if (entry.kind === 'open') this.open(entry.file, name);
    else if (entry.kind === 'write' || entry.kind === 'truncate')
      this.files.get(entry.file)?.node.changes.push({ at, entry });
    else if (entry.kind === 'syncStart') this.startsOf(entry.file).push(at);
    else if (entry.kind === 'syncEnd') this.synced(entry.file, name);
    else if (entry.kind === 'rename') this.rename(name, at);
    else if (entry.kind === 'unlink') this.change(at, dirname(name), (names) => names.delete(name));
    else if (entry.kind === 'makeFolder')
      this.change(at, dirname(name), (names) => names.set(name, 'folder'));
  }

  private create(name: string, at: number): void {
    const node: Node = { changes: [], safeBefore: 0 };
    this.change(at, dirname(name), (names) => names.set(name, node));
  }

  private open(file: number, name: string): void {
    const node = this.live.get(name);
    if (node === undefined || node === 'folder') this.files.delete(file);
    else this.files.set(file, { node, name });
  }

  private rename(both: string, at: number): void {
    const [from, to] = both.split('\n') as [string, string];
    const node = this.live.get(from)!;
    this.change(at, dirname(from), (names) => {
      names.delete(from);
      names.set(to, node);
    });
  }

  private change(at: number, folder: string, apply: (names: Names) => void): void {
    apply(this.live);
    this.nameChanges.push({ at, folder: folder === '.' ? '' : folder, apply });
  }

  private startsOf(file: number): number[] {
    let starts = this.syncing.get(file);
    if (starts === undefined) {
      starts = [];
      this.syncing.set(file, starts);
    }
    return starts;
  }

  private synced(file: number, name: string): void {
    const start = this.startsOf(file).shift()!;
    const opened = this.files.get(file);
    if (opened !== undefined && opened.name === name) opened.node.safeBefore = start;
    else this.namesSafeBefore.set(name, start);
  }

  /** Writes a folder as a power cut at this moment could leave it. */
  writeTo(folder: string, luck: Luck): void {
    mkdirSync(folder, { recursive: true });
    for (const [name, node] of this.namesAfter(luck)) {
      const path = join(folder, name);
      if (node === 'folder') mkdirSync(path, { recursive: true });
      else writeFileSync(path, contentOf(node, luck), { mode: 0o600 });
    }
  }

  private namesAfter(luck: Luck): Names {
    const names: Names = new Map();
    const unsafe = this.nameChanges.filter((each) => !this.isSafe(each)).length;
    let kept = luck === 'nothing' ? 0 : luck === 'everything' ? unsafe : luck.whole(0, unsafe);
    // Changes of names are lost from the end, as on a journalling file system.
    for (const each of this.nameChanges) if (this.isSafe(each) || kept-- > 0) each.apply(names);
    return names;
  }

  private isSafe({ at, folder }: NameChange): boolean {
    return at < (this.namesSafeBefore.get(folder) ?? 0);
  }
}

function contentOf(node: Node, luck: Luck): Buffer {
  const content = new Content();
  const last = node.changes.at(-1);
  for (const change of node.changes) {
    const { at, entry } = change;
    if (at < node.safeBefore || luck === 'everything') content.change(entry);
    else if (luck !== 'nothing' && luck.chance(0.6))
      content.change(change === last ? torn(entry, luck) : entry);
  }
  return content.bytes();
}

/** The part of a write that reached the disk: whole sectors, from its start. */
function torn(entry: Entry, random: Random): Entry {
  if (entry.kind !== 'write') return entry;
  const sectors = random.whole(0, Math.floor(entry.payload.length / SECTOR_BYTES));
  return { ...entry, payload: entry.payload.subarray(0, sectors * SECTOR_BYTES) };
}

/** The bytes of a growing file; a gap contains zeros. */
class Content {
  private room = Buffer.alloc(64 * 1024);
  private length = 0;

  change({ kind, offset, payload }: Entry): void {
    if (kind === 'truncate') this.resize(offset);
    else {
      this.resize(Math.max(this.length, offset + payload.length));
      payload.copy(this.room, offset);
    }
  }

  bytes(): Buffer {
    return this.room.subarray(0, this.length);
  }

  private resize(length: number): void {
    if (length > this.room.length) {
      const larger = Buffer.alloc(2 * length);
      this.room.copy(larger);
      this.room = larger;
    }
    this.room.fill(0, Math.min(length, this.length), Math.max(length, this.length));
    this.length = length;
  }
}
