/**
 * The sequencer of a running exchange: after each command, those who watch are told, whoever sent it; and trading can be
 * stopped, for whoever sends.
 *
 * Watchers run before the sender sees the result. They may read the engine, its result and its events, but send nothing
 * themselves: the sender relies on the result tape.
 *
 * Always holds: once trading is stopped, no command is executed any more, whether it is a client's, the house's, a price or the
 * end of a market. What was accepted before becomes durable and is answered, and what is there can be read.
 */
import type { Command } from '../engine/interface/commands.js';
import type { NumberBuffer } from '../engine/storage/number-buffer.js';
import { Sequencer, SubmitRefused } from '../persistence/sequencer.js';

/** Trading is stopped, and will be until the exchange is started again; the command was not executed. */
export class TradingHalted extends SubmitRefused {
  override name = 'TradingHalted';
}

export class WatchedSequencer extends Sequencer {
  private readonly watchers: (() => void)[] = [];
  private readonly haltWatchers: (() => void)[] = [];
  private haltReason: string | null = null;

  watch(watcher: () => void): void {
    this.watchers.push(watcher);
  }

  /** Tells when trading is stopped; at once if it is. */
  whenHalted(watcher: () => void): void {
    if (this.haltReason === null) this.haltWatchers.push(watcher);
    else watcher();
  }

  /** Stops trading, for good. The first reason counts. */
  halt(reason: string): void {
    if (this.haltReason !== null) return;
    this.haltReason = reason;
    for (const watcher of this.haltWatchers) watcher();
  }

  /** Why trading is stopped; null: it is not. */
  get halted(): string | null {
    return this.haltReason;
  }

  /** @throws TradingHalted once trading is stopped; else like {@link Sequencer.submit} */
  override submit(command: Command): NumberBuffer {
    if (this.haltReason !== null) throw new TradingHalted(`trading is stopped: ${this.haltReason}`);
    const result = super.submit(command);
    for (const watcher of this.watchers) watcher();
    return result;
  }
}
