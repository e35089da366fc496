/**
 * On the core: the commands that an edge has read. The results of those that come in one turn leave
 * together, once they are durable.
 *
 * Always holds: an edge is sent everything in the order of the sequences that it shows. So results
 * are only put together while nothing else that waits came between them.
 */
import type { RecordBuffer } from '../../../engine/interface/records.js';
import type { NumberBuffer } from '../../../engine/storage/number-buffer.js';
import type { ReleaseTarget } from '../../../persistence/sequencer.js';
import type { Bill } from '../../access/fair-use/fair-use.js';
import type { RecordSummary } from '../../commands/cancels.js';
import { executeRecord, logInvalid, refusalIn } from '../../commands/execution.js';
import { refusalAnswer } from '../../http/errors.js';
import type { Gateway } from '../../http/gateway.js';
import { elapsedMs } from '../../observe/clock.js';
import type { AnswerCounts } from '../../observe/metrics.js';
import type { Connection } from '../../stream/connection.js';
import { type BlockSink, FrameBlock, FrameWriter, ResultFlag, ToEdge } from '../link/frames.js';

/** Results of more bytes are not collected in one block. */
const BLOCK_BYTES = 64 * 1024;
const SPARE_BLOCKS = 8;

export interface EdgeCommandsOptions {
  gateway: Gateway;
  sink: BlockSink;
  /** Whether more waits for the edge than may: answers are then dropped, with their connections. */
  isCongested: () => boolean;
  /** Called when requests are over, or the edge sends nothing more. */
  onChange: () => void;
}

export class EdgeCommands {
  /** Commands whose results were not sent yet. */
  inFlight = 0;
  private open: Results;
  private readonly spare: Results[] = [];

  constructor(private readonly options: EdgeCommandsOptions) {
    this.open = new Results(this);
  }

  /**
   * Executes the first record and returns its result, valid until the next command; null: it did
   * not reach the engine. The result must go to {@link begin} and {@link end} next.
   */
  execute(records: RecordBuffer, user: number, bill: Bill): NumberBuffer | null {
    if (this.open.count === 0) this.open.receivedMs = elapsedMs();
    return executeRecord(this.options.gateway, records, { user, bill });
  }

  /** Begins the frame of a result, behind those before it. */
  begin(kind: number, number: number, flags = 0): FrameBlock {
    const { sequencer } = this.options.gateway;
    if (sequencer.waitingTargets !== this.open.waitingTargets) this.flush();
    const { open } = this;
    open.waitingTargets = sequencer.waitingTargets;
    open.sequence = sequencer.engine.sequence;
    const replayed = sequencer.engine.replayed ? ResultFlag.replayed : 0;
    return open.block.begin(kind, number, flags | replayed);
  }

  /** Ends it. `connection`: a stream that waits for it. */
  end(
    result: NumberBuffer,
    { isAtomic }: RecordSummary,
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
    const refusal = refusalIn(result, isAtomic);
    counts.add(refusal === null ? 200 : refusalAnswer(refusal).error.status);
    if (refusal?.code === 'invalid_command') logInvalid(this.options.gateway, {});
    if (open.block.byteLength >= BLOCK_BYTES) this.flush();
  }

  /** To be called after all frames of a turn, and before anything else waits for the disk. */
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
    if (isCongested()) this.drop(block);
    else this.options.sink.sendBlock(block);
    for (const connection of connections) connection.requestAnswered();
    const nowMs = elapsedMs();
    metrics.commitMs.observe(nowMs - appliedMs, count);
    metrics.requestMs.observe(nowMs - receivedMs, count);
    this.inFlight -= count;
    results.clear();
    if (this.spare.length < SPARE_BLOCKS) this.spare.push(results);
    onChange();
  }

  /** Sends only what is for streams, whose backlog the edge limits. */
  private drop(block: FrameBlock): void {
    const { sink } = this.options;
    for (const frame of block.frames()) {
      if (frame.bytes[0] === ToEdge.streamResult) sink.send(frame);
      else sink.send(writer.begin(ToEdge.dropped, frame.bytes.readUInt32LE(4)));
    }
  }
}

const writer = new FrameWriter();

/** Results that wait for the same sequence. */
class Results implements ReleaseTarget {
  readonly block = new FrameBlock();
  /** Of streams: whose results they are. */
  readonly connections: Connection[] = [];
  count = 0;
  sequence = 0;
  /** How many targets waited in all when the last result was added. */
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
