/**
 * Examines the files of the history for `doctor` and `archive`: how far they can be used, and which
 * must be rebuilt from the journal. Nothing is changed.
 */
import { existsSync } from 'node:fs';
import type sqlite3 from 'sqlite3';
import {
  cataloguePath,
  openPath,
  PartList,
  prunedPath,
  readParts,
  sealedPath,
} from '../../history/parts/catalogue.js';
import { readProgress } from '../../history/parts/progress.js';
import { HistoryDamage } from '../../history/rows.js';
import { fileHash } from '../../storage/files.js';
import { openReadOnly } from '../../storage/read-only.js';
import { closeDatabase } from '../../storage/sqlite.js';

export interface FoundHistory {
  /** Commands up to here are in usable files; 0 if none, or the catalogue is damaged. */
  sequence: number;
  parts: number;
  /** Files that an exchange will rebuild from the journal, with the reasons. */
  problems: string[];
}

/** @param checkAll also reads every sealed part; otherwise only their presence is checked. */
export async function findHistory(folder: string, checkAll: boolean): Promise<FoundHistory> {
  const found: FoundHistory = { sequence: 0, parts: 0, problems: [] };
  const catalogue = cataloguePath(folder);
  if (!existsSync(catalogue)) return found;
  const over = await usable(() => readHere(catalogue, readParts), catalogue, found);
  if (over === null) return found;
  const parts = new PartList(folder, over);
  found.parts = parts.open;
  for (const { part, end, sha256 } of over) {
    const path = parts.pathOf(part);
    // A running exchange may seal or prune the part during the check.
    const isThere = [path, sealedPath(folder, part), prunedPath(folder, part)].some(existsSync);
    const isChanged = () => fileHash(path).toString('hex') !== sha256;
    if (!isThere) found.problems.push(`${path} is missing`);
    else if (checkAll && sha256 !== null && existsSync(path) && isChanged())
      found.problems.push(`${path} does not match its checksum`);
    if (found.problems.length === 0) found.sequence = end.sequence;
  }
  const open = openPath(folder, parts.open);
  if (!existsSync(open)) return found;
  const progress = await usable(() => readHere(open, readProgress), open, found);
  if (progress !== null && found.problems.length === 0) found.sequence = progress.sequence;
  return found;
}

async function usable<Value>(
  read: () => Promise<Value>,
  path: string,
  { problems }: FoundHistory,
): Promise<Value | null> {
  try {
    return await read();
  } catch (error) {
    const isDamage =
      error instanceof HistoryDamage || (error as { errno?: number }).errno !== undefined;
    if (!isDamage) throw error;
    problems.push(`${path} is damaged: ${(error as Error).message}`);
    return null;
  }
}

async function readHere<Result>(
  path: string,
  read: (database: sqlite3.Database) => Promise<Result>,
): Promise<Result> {
  const { database } = await openReadOnly(path);
  try {
    return await read(database);
  } finally {
    await closeDatabase(database);
  }
}
