/**
 * Core side: commands read by an edge. The results of one turn are sent together, once durable.
 *
 * Invariant: an edge gets frames in the order of the sequences that they show, so results are
 * combined only while no other target is queued between them.
 */
import type { RecordBuffer } from '../../../engine/interface/records.js';
import type { NumberBuffer } from '../../../engine/storage/number-buffer.js';
import type { ReleaseTarget } from '../../../persistence/sequencer.js';
import type { Bill } from '../../access/fair-use/fair-use.js';
import type { RecordSummary } from '../../commands/cancels.js';
import { refusalAnswer } from '../../commands/errors.js';
import { executeRecord, logInvalid, refusalIn } from '../../commands/execution.js';
import type { Gateway } from '../../http/gateway.js';
import { elapsedMs } from '../../observe/clock.js';
import type { AnswerCounts } from '../../observe/metrics.js';
import type { Connection } from '../../stream/connection.js';
import {
  type BlockSink,
  type Frame,
  FrameBlock,
  FrameWriter,
  ResultFlag,
  ToEdge,
} from '../link/frames.js';

/** Above this size, no more results are added to a block. */
const BLOCK_BYTES = 64 * 1024;
const SPARE_BLOCKS = 8;

export interface EdgeCommandsOptions {
  gateway: Gateway;
  sink: BlockSink;
  isCongested: () => boolean;
  /** Called when requests are over, or the edge sends nothing more. */
  onChange: () => void;
}

export class EdgeCommands {
  inFlight = 0;
  private open: Results;
  private readonly spare: Results[] = [];

  constructor(private readonly options: EdgeCommandsOptions) {
    this.open = new Results(this);
  }

  /** `null`: the engine did not see the record. Next, {@link begin} and {@link end} the result. */
  execute(records: RecordBuffer, user: number, bill: Bill): NumberBuffer | null {
    this.began();
    return executeRecord(this.options.gateway, records, { user, bill });
  }

  /** The command stays in flight until the returned function is called to answer. */
  answersLater(): (answer: () => void) => void {
    this.flush();
    this.inFlight++;
    return (answer) => {
      this.began();
      answer();
      this.flush();
      this.inFlight--;
      this.options.onChange();
    };
  }

  private began(): void {
    if (this.open.count === 0) this.open.receivedMs = elapsedMs();
  }

  get gateway(): Gateway {
    return this.options.gateway;
  }

  begin(kind: number, number: number, flags: number, replayed: boolean): FrameBlock {
    const { sequencer } = this.options.gateway;
    if (sequencer.waitingTargets !== this.open.waitingTargets) this.flush();
    const { open } = this;
    open.waitingTargets = sequencer.waitingTargets;
    open.sequence = sequencer.engine.sequence;
    return open.block.begin(kind, number, replayed ? flags | ResultFlag.replayed : flags);
  }

  /** Ends the frame. `connection` is the stream that waits for the result. */
  end(
    result: NumberBuffer,
    summary: RecordSummary,
    counts: AnswerCounts,
    connection: Connection | null,
  ): void {
    const { open } = this;
    open.block.end(result);
    open.count++;
    this.inFlight++;
    if (connection !== null) {
      connection.outstanding++;
      open.connections.push(connection);
    }
    this.count(result, summary, counts);
    if (open.block.byteLength >= BLOCK_BYTES) this.flush();
  }

  count(result: NumberBuffer, { isAtomic }: RecordSummary, counts: AnswerCounts): void {
    const refusal = refusalIn(result, isAtomic);
    counts.add(refusal === null ? 200 : refusalAnswer(refusal).error.status);
    if (refusal?.code === 'invalid_command') logInvalid(this.options.gateway, {});
  }

  /** Call after all frames of a turn, and before queueing anything else for the disk. */
  flush(): void {
    const { open } = this;
    const { count, receivedMs } = open;
    if (count === 0) return;
    const { metrics, sequencer } = this.options.gateway;
    open.appliedMs = elapsedMs();
    metrics.applyMs.observe((open.appliedMs - receivedMs) / count, count);
    this.open = this.spare.pop() ?? new Results(this);
    this.open.receivedMs = open.appliedMs;
    sequencer.releaseAt(open.sequence, open);
  }

  sent(results: Results): void {
    const { gateway, isCongested, onChange } = this.options;
    const { metrics } = gateway;
    const { block, connections, count, receivedMs, appliedMs } = results;
    if (!isCongested() && connections.every(({ isInTurn }) => isInTurn)) {
      this.options.sink.sendBlock(block);
      for (const connection of connections) connection.requestAnswered();
    } else this.sendEach(results);
    const nowMs = elapsedMs();
    metrics.commitMs.observe(nowMs - appliedMs, count);
    metrics.requestMs.observe(nowMs - receivedMs, count);
    this.inFlight -= count;
    results.clear();
    if (this.spare.length < SPARE_BLOCKS) this.spare.push(results);
    onChange();
  }

  /** While the edge's queue is too long, only streams are answered, which the edge limits. */
  private sendEach({ block, connections }: Results): void {
    const { sink, isCongested } = this.options;
    let streams = 0;
    for (const frame of block.frames()) {
      if (frame.bytes[0] === ToEdge.streamResult) this.sendInTurn(connections[streams++]!, frame);
      else if (!isCongested()) sink.send(frame);
      else sink.send(writer.begin(ToEdge.dropped, frame.bytes.readUInt32LE(4)));
    }
  }

  private sendInTurn(connection: Connection, frame: Frame): void {
    // The block's memory is reused.
    const kept = { ...frame, bytes: Buffer.from(frame.bytes) };
    this.inFlight++;
    connection.inTurn(() => {
      this.options.sink.send(kept);
      connection.requestAnswered();
      this.inFlight--;
      this.options.onChange();
    });
  }
}

const writer = new FrameWriter();

class Results implements ReleaseTarget {
  readonly block = new FrameBlock();
  readonly connections: Connection[] = [];
  count = 0;
  sequence = 0;
  /** `sequencer.waitingTargets` when the last result was added. */
  waitingTargets = -1;
  receivedMs = 0;
  appliedMs = 0;

  constructor(private readonly commands: EdgeCommands) {}

  release(): void {
    this.commands.sent(this);
  }

  clear(): void {
    this.block.clear();
    this.connections.length = 0;
    this.count = 0;
    this.waitingTargets = -1;
  }
}
