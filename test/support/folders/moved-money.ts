/** Forges a snapshot, with a correct checksum. */
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { expect } from 'vitest';
import type { Engine } from '../../../engine/engine.js';
import { readSnapshot } from '../../../persistence/recovery/snapshot/file.js';

/**
 * Moves 40 cents from one user's balance to another's and corrects the file's checksum. Both
 * balances must differ from every other number in the snapshot.
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

/** The offset of the user's available money in the file; its value must occur once. */
function balanceAt(bytes: Buffer, engine: Engine, userId: number): number {
  const value = Buffer.alloc(8);
  value.writeDoubleLE(engine.account(userId)!.availableMicros);
  const at = bytes.indexOf(value);
  expect(bytes.indexOf(value, at + 1), `the balance of u${userId} is at one place`).toBe(-1);
  return at;
}
