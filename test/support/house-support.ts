/**
 * An exchange without HTTP, for tests of the house and the scheduler: the engine, a journal on
 * disk, the sequencer, and the scheduler, which is notified of every command as in the gateway.
 */
import { pino } from 'pino';
import { Engine } from '../../engine/engine.js';
import type { Command } from '../../engine/interface/commands.js';
import { decodeEvents, type EventRecord } from '../../engine/interface/events.js';
import { ResultHead } from '../../engine/interface/results.js';
import type { Clock } from '../../gateway/inputs/clock.js';
import { Scheduler } from '../../gateway/inputs/scheduler.js';
import { openJournal } from '../../persistence/recovery/data-folder.js';
import { Sequencer } from '../../persistence/sequencer.js';

export const silentLog = pino({ level: 'silent' });
export interface Sent {
  kind: Command['kind'];
  code: number;
  atMs: number;
  /** The clock's time, and the time at which the command was due. */
  clockMs: number;
  dueMs: number;
  events: EventRecord[];
}

export class Exchange {
  readonly engine = new Engine();
  readonly sent: Sent[] = [];
  readonly scheduler: Scheduler;
  private readonly sequencer: Sequencer;

  private constructor(
    journal: Awaited<ReturnType<typeof openJournal>>,
    readonly clock: Clock,
  ) {
    this.sequencer = new Sequencer({
      engine: this.engine,
      journal,
      now: () => clock.nowMs(),
      onFatal: (error) => {
        throw error;
      },
    });
    this.scheduler = new Scheduler(this, clock);
  }

  static async open(folder: string, clock: Clock): Promise<Exchange> {
    return new Exchange(await openJournal({ folder, durability: 'off' }), clock);
  }

  submit(command: Command): Engine['result'] {
    const { engine } = this;
    const sent = { kind: command.kind, clockMs: this.clock.nowMs(), dueMs: engine.nextDueMs() };
    const result = this.sequencer.submit(command);
    const code = result.values[ResultHead.code]!;
    this.sent.push({ ...sent, code, atMs: engine.nowMs, events: decodeEvents(engine.events) });
    this.scheduler.afterSubmit();
    return result;
  }

  /** Submits one command, which must succeed. */
  do(command: Command): Engine['result'] {
    const result = this.submit(command);
    const { code } = this.sent.at(-1)!;
    if (code !== 0) throw new Error(`${command.kind} was refused with code ${code}`);
    return result;
  }

  price(
    asset: number,
    dollars: number,
  ): { asset: number; priceMicros: number; observedAtMs: number } {
    const observedAtMs = Math.max(this.clock.nowMs(), this.engine.nowMs);
    const price = { asset, priceMicros: Math.round(dollars * 100) * 10_000, observedAtMs };
    this.do({ kind: 'observePrice', ...price });
    return price;
  }

  events(): EventRecord[] {
    return this.sent.flatMap((sent) => sent.events);
  }

  async close(): Promise<void> {
    this.scheduler.stop();
    await this.sequencer.close();
  }
}
