/**
 * A client that is not part of the attack. It stakes a dollar again and again, and must be able to
 * go on. Its balance decreases by exactly the stakes that were acknowledged.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Samples } from '../../../bench/measure/samples.js';
import { type Door, Trader } from './methods/client.js';
import { mustHold } from './promises.js';

const EVERY_MS = 50;
/** The longest that a stake may take. Client, attackers and exchange may share two cores. */
export const LONGEST_WAIT_MS = 5_000;

export class Bystander {
  private latencies = new Samples();
  private acknowledged = 0;
  private problem: string | null = null;
  private isOver = false;
  private readonly round: Promise<void>;

  private constructor(private readonly trader: Trader) {
    this.round = this.trade().catch((error: Error) => {
      this.problem ??= `trading ended for another client: ${error.message}`;
    });
  }

  static async start(door: Door, username: string): Promise<Bystander> {
    return new Bystander(await Trader.register(door, username));
  }

  /** Returns its latencies since the last call. @throws BrokenPromise */
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
    await this.trader.mustHaveSpent(this.acknowledged);
    this.trader.client.close();
  }

  private async trade(): Promise<void> {
    while (!this.isOver) {
      const startedMs = performance.now();
      const { status, text } = await this.trader.stake(1, `bystander:${this.acknowledged}`);
      this.latencies.add(performance.now() - startedMs);
      if (status === 201) this.acknowledged++;
      else this.problem ??= `a stake of another client was answered ${status}: ${text}`;
      await sleep(EVERY_MS);
    }
  }
}
