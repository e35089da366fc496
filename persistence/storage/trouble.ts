/**
 * Failures as fields for the operator: problem, file and remedy. For a file that this program may
 * not use, the remedy is the command that makes it usable.
 *
 * Invariant: only this file puts errors of the operating system and of SQLite into words, when a
 * program is about to print or log them.
 */
import { accessSync, constants, existsSync, type Stats, statSync } from 'node:fs';
import { userInfo } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { fileProblem } from './sqlite-codes.js';

export interface Trouble {
  readonly problem: string;
  readonly file: string | null;
  /** What to do; null if `problem` says it, or nothing can be done. */
  readonly remedy: string | null;
}

export type Told = Pick<Trouble, 'problem'> & Partial<Trouble>;

export class TroubleError extends Error implements Trouble {
  override name = 'TroubleError';
  readonly problem: string;
  readonly file: string | null;
  readonly remedy: string | null;

  constructor(told: string | Told, cause?: unknown) {
    const {
      problem,
      file = null,
      remedy = null,
    } = typeof told === 'string' ? { problem: told } : told;
    super(troubleText({ problem, remedy }), { cause });
    this.problem = problem;
    this.file = file;
    this.remedy = remedy;
  }
}

export function troubleText({ problem, remedy }: Pick<Trouble, 'problem' | 'remedy'>): string {
  return remedy === null ? problem : `${problem}. ${remedy}`;
}

/** Not a journal error, and not a fault of this program. */
export function isOfFile(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  return error.constructor === TroubleError || 'syscall' in error || fileProblem(error) !== null;
}

const NO_ROOM = ['ENOSPC', 'EDQUOT', 'SQLITE_FULL'];
const NO_DESCRIPTORS = ['EMFILE', 'ENFILE'];
const NOT_ALLOWED = [
  'EACCES',
  'EPERM',
  'EROFS',
  'SQLITE_CANTOPEN',
  'SQLITE_READONLY',
  'SQLITE_PERM',
];

export function troubleOf(error: unknown): Trouble {
  if (error instanceof TroubleError) return error;
  const { code = '', path, message, syscall = '' } = error as NodeJS.ErrnoException;
  const said = error instanceof Error ? message : String(error);
  const file = typeof path === 'string' ? resolve(path) : null;
  if (NO_DESCRIPTORS.includes(code))
    return {
      problem: `${said}: this program has reached its limit on open files`,
      file,
      remedy: 'Raise the limit on open files: ulimit -n, or LimitNOFILE= in systemd',
    };
  if (file === null) return { problem: said, file, remedy: null };
  if (NO_ROOM.includes(code)) return noRoomFor(file, code);
  const denied = NOT_ALLOWED.includes(code) ? denialOf(file, syscall) : null;
  return denied ?? { problem: said.includes(file) ? said : `${said}: ${file}`, file, remedy: null };
}

function noRoomFor(file: string, code: string): Trouble {
  return {
    problem: `${file} could not be written: its disk is full, or a quota is used up (${code})`,
    file,
    remedy: `Free space there: df -h ${nearestFolder(file)}`,
  };
}

/** Operations that need write permission on the parent folder. */
const ON_NAMES = ['mkdir', 'rename', 'unlink', 'rm', 'rmdir', 'link', 'symlink'];

/** Why this user may not use a file; null if the permissions do not explain it. */
function denialOf(file: string, syscall: string): Trouble | null {
  const closed = foldersAbove(file).find((folder) => !may(folder, constants.X_OK));
  if (closed !== undefined) return closedFolder(closed, file);
  const folder = nearestFolder(dirname(file));
  const files = [file, `${file}-wal`, `${file}-shm`].filter((path) => existsSync(path));
  const { R_OK, W_OK } = constants;
  const checks: [path: string, mode: number][] = files.map((path) => [path, R_OK]);
  if (!ON_NAMES.includes(syscall)) for (const path of files) checks.push([path, W_OK]);
  checks.push([folder, W_OK]);
  for (const [path, mode] of checks) {
    const code = denial(path, mode);
    if (code === 'EROFS') return readOnlyDisk(path);
    if (code !== null) return othersFile(path, file, syscall, code);
  }
  // Only the owner may change a file's mode.
  const found = statSync(file, { throwIfNoEntry: false });
  return found === undefined || isOwn(found) ? null : othersFile(file, file, syscall, 'EPERM');
}

/** Names of a data folder's files, to recognise a folder that cannot be listed. */
const OF_DATA_FOLDER = /^(journal[.-].*|history\.db.*|snapshots|days|session-secret|last-backup)$/;

function closedFolder(folder: string, file: string): Trouble {
  if (dirname(file) === folder && OF_DATA_FOLDER.test(basename(file)))
    return othersFile(folder, folder, 'open', 'EACCES');
  const { uid } = statSync(folder);
  return {
    problem: `${file} cannot be used (EACCES): ${folder} belongs to ${nameOf(uid)}, and this program's user, ${whoRuns()}, may not enter it`,
    file,
    remedy: `Use a folder elsewhere, or let ${whoRuns()} through: chmod a+x ${folder}`,
  };
}

function readOnlyDisk(path: string): Trouble {
  return {
    problem: `${path} cannot be written (EROFS): its disk is mounted read-only`,
    file: path,
    remedy: `In a container, mount the volume without :ro. Elsewhere, run: mount -o remount,rw $(findmnt -nro TARGET -T ${path})`,
  };
}

/** @param path the inaccessible path; `file` is the path of the failed operation. */
function othersFile(path: string, file: string, syscall: string, code: string): Trouble {
  const found = statSync(path);
  const user = whoRuns();
  const what =
    syscall === 'mkdir'
      ? `${file} cannot be created (${code})`
      : `${path} cannot be used (${code})`;
  if (isOwn(found))
    return {
      problem: `${what}: its owner, ${user}, may not use ${path}`,
      file: path,
      remedy: `Run: chmod u+rwX ${path}`,
    };
  const owner = nameOf(found.uid);
  const problem = `${what}: ${path === file ? 'it' : path} belongs to ${owner}, and this program runs as ${user}`;
  if (syscall === 'mkdir')
    return { problem, file, remedy: `As ${owner}, run: install -d -m 700 -o ${user} ${file}` };
  const whole = dataFolderOf(path) ?? path;
  const all = statSync(whole).isDirectory() ? '-R ' : '';
  return {
    problem,
    file: path,
    remedy: `Run this program as ${owner}, or give ${whole} to ${user}: chown ${all}${user} ${whole}`,
  };
}

/** The data folder that contains a path: all of it must belong to one user. */
function dataFolderOf(path: string): string | null {
  const near = [path, dirname(path), dirname(dirname(path))];
  const isData = (folder: string) =>
    ['journal.lock', 'journal.db'].some((name) => existsSync(join(folder, name)));
  return near.find(isData) ?? null;
}

function may(path: string, mode: number): boolean {
  return denial(path, mode) === null;
}

function denial(path: string, mode: number): string | null {
  try {
    accessSync(path, mode);
    return null;
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' || code === 'ENOTDIR' ? null : code;
  }
}

function foldersAbove(path: string): string[] {
  const folders: string[] = [];
  for (let at = dirname(path); ; at = dirname(at)) {
    folders.unshift(at);
    if (at === dirname(at)) return folders;
  }
}

function nearestFolder(path: string): string {
  let at = path;
  while (!(statSync(at, { throwIfNoEntry: false })?.isDirectory() ?? false) && at !== dirname(at))
    at = dirname(at);
  return at;
}

function isOwn({ uid }: Stats): boolean {
  return uid === process.geteuid?.();
}

function nameOf(uid: number): string {
  return uid === 0 ? 'root' : `${uid}`;
}

/** The name of this program's user, or the user's number if it has no name, as in a container. */
function whoRuns(): string {
  try {
    return userInfo().username;
  } catch {
    return `${process.geteuid?.()}`;
  }
}
