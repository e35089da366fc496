/**
 * A client that has nothing to do with the attack: it stakes a dollar again and again, and trading
 * must go on for it.
 *
 * Always holds: what it was told was staked is exactly what its balance lacks.
 */
import { Samples } from '../measure/samples.js';
import { type Door, microsOf, Trader } from './methods/client.js';
import { mustHold } from './promises.js';

const EVERY_MS = 50;
/**
 * The longest that one of its stakes may take. Generous: client, attackers and exchange may share
 * two cores.
 */
export const LONGEST_WAIT_MS = 5_000;

export class Bystander {
  private latencies = new Samples();
  private acknowledged = 0;
  private problem: string | null = null;
  private isOver = false;
  private round: Promise<void> = Promise.resolve();

  private constructor(
    private readonly trader: Trader,
    private readonly startMicros: number,
  ) {}

  static async start(door: Door, username: string): Promise<Bystander> {
    const trader = await Trader.register(door, username);
    const bystander = new Bystander(trader, await trader.availableMicros());
    bystander.round = bystander.trade().catch((error: Error) => {
      bystander.problem ??= `trading ended for another client: ${error.message}`;
    });
    return bystander;
  }

  /** What an attack did to it. Starts a new measurement. @throws BrokenPromise */
  judge(): Samples {
    const { latencies } = this;
    this.latencies = new Samples();
    mustHold(this.problem === null, this.problem ?? '');
    const longestMs = latencies.max();
    mustHold(
      !(longestMs > LONGEST_WAIT_MS),
      `a stake of another client took ${Math.round(longestMs)} ms, more than ${LONGEST_WAIT_MS}`,
    );
    return latencies;
  }

  async stop(): Promise<void> {
    this.isOver = true;
    await this.round;
    this.judge();
    const missing = this.startMicros - (await this.trader.availableMicros());
    this.trader.client.close();
    mustHold(
      missing === microsOf(this.acknowledged),
      `another client was told of ${this.acknowledged} dollars staked, and lacks ${missing / 1_000_000}`,
    );
  }

  private async trade(): Promise<void> {
    while (!this.isOver) {
      const startedMs = performance.now();
      const { status, text } = await this.trader.stake(1, `bystander:${this.acknowledged}`);
      this.latencies.add(performance.now() - startedMs);
      if (status === 201) this.acknowledged++;
      else this.problem ??= `a stake of another client was answered ${status}: ${text}`;
      await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
    }
  }
}
