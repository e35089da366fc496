/**
 * Updates the page once per animation frame, however many messages arrive. Messages change stored
 * state immediately. Signals, and thus the page, change here.
 */
import { batch } from '@preact/signals';

const waiting = new Set<() => void>();

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
