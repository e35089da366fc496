/**
 * The order in which files of tests are run: those that take longest first, so that no core is left alone with one of them at the
 * end. What is not named here comes after them, in vitest's own order.
 *
 * Always holds: each name is a file's; a list that has gone stale would help nobody.
 */
import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Of more than some five seconds each, longest first. The first three wait more than they work, each for another reason. */
const LONGEST = [
  'real-day',
  'kill',
  'soak',
  'differential',
  'follower-thread',
  'server-process',
  'fuzz',
  'history',
  'replay',
  'stream-connections',
  'replay-running',
  'hardening',
  'folder-damage',
  'recovery-http',
  'idempotency',
  'replay-damage',
  'replay-history',
  'follower',
  'row-index',
  'maxima',
  'contract-client',
  'replay-http',
  'stream-user',
  'batch',
  'stream-book',
  'journal-damage',
  'fair-use',
  'markets-list',
].map((name) => `${name}.test.ts`);

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const stale = LONGEST.filter((name) => !existsSync(new URL(name, import.meta.url)));
    if (stale.length > 0) throw new Error(`longest-first.ts names what is no file: ${stale}`);
    const place = ({ moduleId }: TestSpecification) => {
      const index = LONGEST.indexOf(basename(moduleId));
      return index < 0 ? LONGEST.length : index;
    };
    return (await super.sort(files)).sort((a, b) => place(a) - place(b));
  }
}
