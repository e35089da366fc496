/**
 * The naive engine as the specification of the exchange: applies the commands of a journal one
 * after the other, and reports every answer and observation that differs.
 */
import type { Command } from '../../../engine/interface/commands.js';
import { marketIdNumber } from '../../../engine/interface/notation.js';
import { NumberBuffer } from '../../../engine/storage/number-buffer.js';
import { orderbookText } from '../../../gateway/resources/markets/orderbook.js';
import { NaiveEngine } from '../naive-engine/naive-engine.js';
import { Executions } from './judge.js';
import { balanceText, bookText, type Observation } from './observation.js';

export class Specification {
  readonly executions = new Executions();
  /** Observations that differ from the state at their sequence. */
  readonly wrong: string[] = [];
  readonly result = new NumberBuffer();
  private readonly naive = new NaiveEngine();
  private readonly due: readonly Observation[];
  private judged = 0;

  constructor(observed: readonly Observation[]) {
    this.due = observed.toSorted((a, b) => a.sequence - b.sequence);
  }

  get sequence(): number {
    return this.naive.sequence;
  }

  get replayed(): boolean {
    return this.naive.replayed;
  }

  assetSymbol(asset: number): string {
    return this.naive.state.assets[asset]!.symbol;
  }

  findAsset(symbol: string): number {
    return this.naive.findAsset(symbol);
  }

  apply(command: Command, atMs: number): void {
    this.naive.apply(command, atMs);
    this.result.clear();
    this.result.write(...this.naive.result);
    this.executions.take(this, command);
    for (; this.due[this.judged]?.sequence === this.sequence; this.judged++)
      this.compare(this.due[this.judged]!);
  }

  /** Call after the last command of the journal. */
  end(): void {
    for (const { what, sequence } of this.due.slice(this.judged))
      this.wrong.push(`${what} was seen at ${sequence}, which is not in the journal`);
  }

  private compare({ what, sequence, value }: Observation): void {
    const state = what.startsWith('u') ? this.balance(Number(what.slice(1))) : this.book(what);
    if (state !== value) this.wrong.push(`${what} at ${sequence}: ${value} is ${state}`);
  }

  private balance(userId: number): string {
    const { availableMicros, heldMicros } = this.naive.account(userId)!;
    return balanceText({ available: availableMicros / 1e6, held: heldMicros / 1e6 });
  }

  private book(market: string): string {
    const marketId = marketIdNumber(this, market);
    const depth = this.naive.depth(marketId, Number.POSITIVE_INFINITY)!;
    return bookText(JSON.parse(orderbookText(this, marketId, depth, { sequence: 0 })));
  }
}
