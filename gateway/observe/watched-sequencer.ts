/**
 * The sequencer of a running exchange. It notifies watchers after each command, before the sender
 * sees the result. Watchers may read the engine but must not submit commands.
 *
 * Invariant: once trading is halted, no command is executed. Commands accepted earlier become
 * durable and are answered, and the state can still be read.
 */
import type { Command } from '../../engine/interface/commands.js';
import type { RecordBuffer } from '../../engine/interface/records.js';
import type { NumberBuffer } from '../../engine/storage/number-buffer.js';
import { Sequencer, SubmitRefused } from '../../persistence/sequencer.js';

export type Submitter = Pick<Sequencer, 'engine' | 'submit'>;

/** Until the exchange is restarted. The command was not executed. */
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

  /** Immediately if trading is already halted. */
  whenHalted(watcher: () => void): void {
    if (this.haltReason === null) this.haltWatchers.push(watcher);
    else watcher();
  }

  halt(reason: string): void {
    if (this.haltReason !== null) return;
    this.haltReason = reason;
    for (const watcher of this.haltWatchers) watcher();
  }

  get halted(): string | null {
    return this.haltReason;
  }

  /** @throws TradingHalted */
  override submit(command: Command): NumberBuffer {
    this.mustTrade();
    return this.watched(super.submit(command));
  }

  /** @throws TradingHalted */
  override submitRecord(records: RecordBuffer, at: number): NumberBuffer {
    this.mustTrade();
    return this.watched(super.submitRecord(records, at));
  }

  private mustTrade(): void {
    if (this.haltReason !== null) throw new TradingHalted(`trading is halted: ${this.haltReason}`);
  }

  private watched(result: NumberBuffer): NumberBuffer {
    for (const watcher of this.watchers) watcher();
    return result;
  }
}
