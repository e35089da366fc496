/** Between the shards and their clients: messages are late, in another order, lost or doubled. */
import type { World } from '../world.js';

const USUAL_MS = 40;
const LATE_MS = 20_000;
const LATE = 0.05;
const LOST = 0.1;
const DOUBLED = 0.1;

export function send(world: World, arrive: () => void): void {
  const { random } = world;
  const copies = random.chance(LOST) ? 0 : random.chance(DOUBLED) ? 2 : 1;
  for (let i = 0; i < copies; i++)
    world.after(random.whole(1, random.chance(LATE) ? LATE_MS : USUAL_MS), arrive);
}
