/**
 * One shard: the real engine and sequencer with a journal of their own, and the courier that brings
 * the money of its debits to the other shards.
 *
 * A crash loses everything but the journal. The shard is rebuilt from it at once, and answers again
 * some time later; until then its money is what its journal says.
 *
 * Always holds: a debit is on its way to the other shard only when it is durable here, and it is
 * sent until the other shard's receipt is here.
 */
import { Engine } from '../../../../engine/engine.js';
import type { Command } from '../../../../engine/interface/commands.js';
import { JournalError } from '../../../../persistence/journal/errors.js';
import { Replay, withCommand } from '../../../../persistence/recovery/recovery.js';
import { SimulatedDisk } from '../disk.js';
import { type Reply, SimulatedExchange } from '../exchange.js';
import type { World } from '../world.js';
import { send } from './network.js';
import { creditOf, isOk, type Transfer, transferOf } from './transfer.js';

const RESTART_MS = 5_000;
const RESEND_MS = 2_000;

export interface ShardOptions {
  /** Milliseconds since 1970. */
  now: () => number;
  /** The shard of that number. */
  peer: (index: number) => Shard;
  /** A promise was broken where nothing can throw. */
  onBroken: (error: Error) => void;
  /** A mutation: the reference under which the credit is sent. */
  creditId?: (transfer: Transfer, attempt: number) => string;
  /** A mutation: send the credit before the debit is durable. */
  isHasty?: boolean;
}

export class Shard {
  /** What the engine has executed, by id. Both are lost in a crash, and come from the journal. */
  readonly debits = new Map<string, Transfer>();
  readonly credits = new Map<string, Transfer>();
  /** Of the debits, those without a receipt. */
  private readonly unreceipted = new Map<string, Transfer>();
  crashes = 0;
  diskFailures = 0;
  sent = 0;
  private exchange!: SimulatedExchange;
  private isUp = false;
  private readonly disk: SimulatedDisk;
  private readonly digests = new Map<number, string>();

  constructor(
    private readonly world: World,
    private readonly options: ShardOptions,
  ) {
    this.disk = new SimulatedDisk(world);
    this.rebuild();
    this.isUp = true;
  }

  get engine(): Engine {
    return this.exchange.sequencer.engine;
  }

  get isSettled(): boolean {
    return this.unreceipted.size === 0;
  }

  /** Every pot of the engine. */
  get moneyMicros(): number {
    const { netDepositsMicros: _, ...pots } = this.engine.funds();
    return Object.values(pots).reduce((sum, micros) => sum + micros, 0);
  }

  /** A message from outside; nobody hears it while the shard is down. */
  receive(command: Command, reply: (reply: Reply) => void): void {
    if (this.isUp) this.submit(command, reply);
  }

  submit(command: Command, reply: (reply: Reply) => void = () => {}): void {
    const { exchange } = this;
    const isAccepted = exchange.submit(command, (answer) => {
      // What an earlier run of the program has executed, this one knows from the journal.
      if (exchange !== this.exchange) return;
      const transfer = transferOf(command);
      if (transfer !== null && command.kind === 'withdraw' && isOk(answer.values))
        this.carry(transfer);
      reply(answer);
    });
    if (isAccepted) this.note(command, this.engine);
  }

  /** Everything but the journal is lost. */
  crash(): void {
    this.crashes++;
    this.fall();
  }

  follow(isSnapshotDue: boolean): void {
    if (this.isUp) this.exchange.follow(isSnapshotDue);
  }

  /** Whether the journal alone leads to the state that this shard had at its end. */
  get isRebuiltByJournal(): boolean {
    const engine = new Engine();
    const replay = new Replay(engine);
    for (const batch of this.disk.batches) replay.apply(batch);
    return engine.digest() === this.digests.get(engine.sequence);
  }

  private fall(): void {
    this.isUp = false;
    this.disk.crash();
    this.rebuild();
    this.world.after(this.world.random.whole(1, RESTART_MS), () => {
      this.isUp = true;
      // Which of them have arrived is not in this journal: the receivers know.
      for (const transfer of this.debits.values()) this.carry(transfer);
    });
  }

  private rebuild(): void {
    const { debits, credits, unreceipted, digests, world } = this;
    for (const map of [debits, credits, unreceipted]) map.clear();
    this.exchange = new SimulatedExchange(world, this.disk, {
      now: this.options.now,
      digests,
      onFatal: (error) => {
        if (!(error instanceof JournalError)) return this.options.onBroken(error);
        this.diskFailures++;
        this.fall();
      },
    });
    const engine = new Engine();
    const take = withCommand((command) => this.note(command, engine));
    const replay = new Replay(engine, take);
    for (const batch of this.disk.batches) replay.apply(batch);
  }

  /** Takes in what the command that the engine has just executed moved between shards. */
  private note(command: Command, engine: Engine): void {
    const transfer = transferOf(command);
    if (transfer === null || engine.replayed || !isOk(engine.result.values)) return;
    const isDebit = command.kind === 'withdraw';
    (isDebit ? this.debits : this.credits).set(transfer.id, transfer);
    if (isDebit && this.options.isHasty === true) this.carry(transfer);
  }

  private carry(transfer: Transfer): void {
    if (this.unreceipted.has(transfer.id)) return;
    this.unreceipted.set(transfer.id, transfer);
    this.sendCredit(transfer, this.exchange, 0);
  }

  private sendCredit(transfer: Transfer, run: SimulatedExchange, attempt: number): void {
    if (run !== this.exchange || !this.unreceipted.has(transfer.id)) return;
    const { world, options } = this;
    const { peer, creditId = ({ id }) => id } = options;
    const credit = creditOf({ ...transfer, id: creditId(transfer, attempt) });
    this.sent++;
    send(world, () =>
      peer(transfer.to).receive(credit, (answer) =>
        send(world, () => {
          if (isOk(answer.values)) this.unreceipted.delete(transfer.id);
        }),
      ),
    );
    world.after(RESEND_MS, () => this.sendCredit(transfer, run, attempt + 1));
  }
}
