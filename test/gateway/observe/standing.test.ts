/** A disk that is nearly full is warned about before a commit fails. */
import { statfsSync } from 'node:fs';
import { afterEach, expect, test, vi } from 'vitest';
import { Standing } from '../../../gateway/observe/standing.js';

vi.mock('node:fs', { spy: true });
afterEach(() => vi.restoreAllMocks());

const MEBIBYTE = 1024 * 1024;

test.each([
  [511, 'the disk of the data folder has 511 MiB left: archive segments or add room'],
  [512, null],
])('with %i MiB left', (mebibytes, warning) => {
  vi.mocked(statfsSync).mockReturnValue({ bavail: mebibytes, bsize: MEBIBYTE } as never);
  const standing = new Standing({
    folder: '.',
    hasJournal: true,
    follower: null,
    clock: { nowMs: () => 0 },
    leading: () => ({ role: 'leader', epoch: null, leader: null, standbys: null }),
  });
  expect(standing.diskWarning).toBe(warning);
});
