/**
 * One update of the page per animation frame, however many messages arrive. What a message changes
 * is kept at once; signals, and so the page, follow here.
 */
import { batch } from '@preact/signals';

const waiting = new Set<() => void>();

/** Runs `update` before the next paint; once, even if it is asked for several times before. */
export function beforePaint(update: () => void): void {
  if (waiting.size === 0) requestAnimationFrame(run);
  waiting.add(update);
}

function run(): void {
  const updates = [...waiting];
  waiting.clear();
  batch(() => {
    for (const update of updates) update();
  });
}
