/**
 * The sequencer of a running exchange: after each command, those who watch are told, whoever sent it.
 *
 * Watchers run before the sender sees the result. They may read the engine, its result and its events, but send nothing
 * themselves: the sender relies on the result tape.
 */
import type { Command } from '../engine/commands.js';
import type { Tape } from '../engine/tape.js';
import { Sequencer } from '../persistence/sequencer.js';

export class WatchedSequencer extends Sequencer {
  private readonly watchers: (() => void)[] = [];

  watch(watcher: () => void): void {
    this.watchers.push(watcher);
  }

  override submit(command: Command): Tape {
    const result = super.submit(command);
    for (const watcher of this.watchers) watcher();
    return result;
  }
}
