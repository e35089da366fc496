/**
 * Checks that the journal's open files are still under their names. If a file was removed or
 * replaced, writes still succeed, but the file is unreachable.
 *
 * Invariant: the check runs once a second, even without commits, so commits have no extra cost.
 */
import { statSync } from 'node:fs';
import { FilesGone } from './errors.js';

const LOOK_EVERY_MS = 1_000;

export class OwnFiles {
  private readonly ids: string[];
  private readonly timer: NodeJS.Timeout;

  /** @param onGone called once. */
  constructor(
    private readonly paths: readonly string[],
    private readonly onGone: (problem: FilesGone) => void,
  ) {
    this.ids = paths.map(idOf);
    this.timer = setInterval(() => this.look(), LOOK_EVERY_MS).unref();
  }

  close(): void {
    clearInterval(this.timer);
  }

  private look(): void {
    const at = this.paths.findIndex((path, i) => idOf(path) !== this.ids[i]);
    if (at === -1) return;
    this.close();
    this.onGone(
      new FilesGone(
        {
          problem:
            `${this.paths[at]} was removed, moved or replaced while the exchange wrote to it. The ` +
            'commands in that file are lost unless the file is put back. The exchange stops now',
          file: this.paths[at]!,
          remedy:
            'Put the file back if it was moved; otherwise restore a backup into a new folder.',
        },
        null,
      ),
    );
  }
}

/** Device and inode; empty if the file is missing or cannot be read. */
function idOf(path: string): string {
  try {
    const { dev, ino } = statSync(path, { bigint: true });
    return `${dev} ${ino}`;
  } catch {
    return '';
  }
}
