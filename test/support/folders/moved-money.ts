/** Changes a snapshot so that the file is whole, as somebody would who can compute its checksum. */
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { expect } from 'vitest';
import type { Engine } from '../../../engine/engine.js';
import { readSnapshot } from '../../../persistence/recovery/snapshot/file.js';

/**
 * Moves 40 cents from one user's balance to another's, and makes the file's checksum right. No
 * other number in the snapshot may be equal to one of the two balances.
 */
export function moveMoney(path: string, fromId: number, toId: number): void {
  const bytes = readFileSync(path);
  const { engine } = readSnapshot(path);
  const words = [fromId, toId].map((userId) => balanceAt(bytes, engine, userId));
  for (const [i, at] of words.entries())
    bytes.writeDoubleLE(bytes.readDoubleLE(at) + (i === 0 ? -400_000 : 400_000), at);
  const body = bytes.subarray(0, -32);
  createHash('sha256').update(body).digest().copy(bytes, body.length);
  writeFileSync(path, bytes);
}

/** Where the archive has the user's available money: the value is at one place in the file. */
function balanceAt(bytes: Buffer, engine: Engine, userId: number): number {
  const value = Buffer.alloc(8);
  value.writeDoubleLE(engine.account(userId)!.availableMicros);
  const at = bytes.indexOf(value);
  expect(bytes.indexOf(value, at + 1), `the balance of u${userId} is at one place`).toBe(-1);
  return at;
}
