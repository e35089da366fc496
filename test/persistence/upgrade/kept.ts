/**
 * The golden data folder in the repository, and checks that an exchange on it gives the recorded
 * answers.
 */
import { chmodSync, cpSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Folders } from '../../support/journal-fixture.js';
import { PARTNER_KEYS, TestServer } from '../../support/server.js';
import { type Answers, hashOf } from './golden-run.js';

const KEPT = join(import.meta.dirname, 'golden');

/** Copies the golden folder, with the modes that the exchange gave its files. */
export function kept(folders: Folders): { folder: string; answers: Answers } {
  const folder = folders.make();
  cpSync(join(KEPT, 'data'), folder, { recursive: true });
  chmodSync(folder, 0o700);
  for (const name of readdirSync(folder))
    if (name !== 'snapshots') chmodSync(join(folder, name), 0o600);
  return { folder, answers: JSON.parse(readFileSync(join(KEPT, 'answers.json'), 'utf8')) };
}

/**
 * Checks that an exchange on the folder gives the recorded answers to reads and to requests with a
 * key.
 */
export async function expectAnswers(folder: string, answers: Answers): Promise<void> {
  const server = await TestServer.start({ partnerKeys: PARTNER_KEYS }, folder, answers.atMs);
  try {
    await server.followed();
    await expectReads(server, answers);
    await expectReplayed(server, answers);
  } finally {
    await server.close();
  }
}

async function expectReads(server: TestServer, { reads, tokens }: Answers): Promise<void> {
  for (const { path, user, hash, json } of reads) {
    const answer = await server.api.read(path, tokens[user ?? '']);
    expect(hashOf(answer.json), `${path}: ${answer.text}, not ${JSON.stringify(json)}`).toBe(hash);
  }
}

async function expectReplayed(server: TestServer, { keyed, tokens }: Answers): Promise<void> {
  expect(keyed.length).toBeGreaterThan(50);
  for (const { path, user, key, body, status, hash } of keyed) {
    const options = { token: tokens[user], headers: { 'idempotency-key': key } };
    const again = await server.api.send('POST', path, body, options);
    expect([again.status, hashOf(again.text)], `${key}: ${again.text}`).toEqual([status, hash]);
    expect(again.headers['idempotency-replayed']).toBe('true');
  }
}
