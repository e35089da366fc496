/** The folders in the repository, and an exchange that must answer as the one that wrote them. */
import { chmodSync, cpSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { FORMAT_VERSION } from '../../../persistence/journal/format.js';
import { operate } from '../../support/folders/operations.js';
import type { Folders } from '../../support/journal-fixture.js';
import type { TestServer } from '../../support/server.js';
import type { Answers } from './golden-run.js';

export const KEPT = join(import.meta.dirname, 'folders');

/** A copy, with the modes that the exchange gave its files. */
export function kept(folders: Folders, version: number): { folder: string; answers: Answers } {
  const from = join(KEPT, `version-${version}`);
  const folder = folders.make();
  cpSync(join(from, 'data'), folder, { recursive: true });
  chmodSync(folder, 0o700);
  for (const name of readdirSync(folder))
    if (name !== 'snapshots') chmodSync(join(folder, name), 0o600);
  return { folder, answers: JSON.parse(readFileSync(join(from, 'answers.json'), 'utf8')) };
}

export async function upgraded(
  folders: Folders,
  folder: string,
): Promise<{ to: string; out: string }> {
  const to = folders.make();
  const { status, out, err } = await operate('upgrade', '--data', folder, '--to', to);
  expect([status, err]).toEqual([0, '']);
  return { to, out };
}

/** Reads answer as they did, and so do requests with a key, which are not executed again. */
export async function expectAnswers(
  server: TestServer,
  answers: Answers,
  version: number,
): Promise<void> {
  await server.followed();
  for (const { path, user, json } of answers.reads) {
    const answer = await server.api.read(path, answers.tokens[user ?? '']);
    const expected = version === FORMAT_VERSION ? json : asKnownThen(json);
    expect(withoutSequence(answer.json), path).toMatchObject(withoutSequence(expected));
  }
  expect(answers.keyed.length).toBeGreaterThan(50);
  for (const { path, user, key, body, status, text } of answers.keyed) {
    const headers = { 'idempotency-key': key };
    const options = { token: answers.tokens[user], headers };
    const again = await server.api.send('POST', path, body, options);
    expect([again.status, again.text], key).toEqual([status, text]);
    expect(again.headers['idempotency-replayed']).toBe('true');
  }
}

/** The sequence grows with the commands of an upgrade and of a start. */
function withoutSequence(json: unknown): object {
  return JSON.parse(JSON.stringify(json), (name, value) =>
    name === 'sequence' || name === 'atSequence' ? undefined : value,
  );
}

/**
 * What an older program knew. It did not know what is null, and an order that rests was `resting`
 * for version 0, even if a part of it was filled.
 */
function asKnownThen(json: unknown): unknown {
  return JSON.parse(JSON.stringify(json), (_name, value) =>
    value === null || value === 'resting' ? undefined : value,
  );
}
