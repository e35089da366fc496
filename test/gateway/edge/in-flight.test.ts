/**
 * On the core, an edge's command is in flight until its answer is sent, even while the history is
 * asked. A stopping leader waits for that.
 */
import { expect, test } from 'vitest';
import { Code } from '../../../engine/interface/codes.js';
import { CommandKind } from '../../../engine/interface/commands.js';
import { RecordBuffer } from '../../../engine/interface/records.js';
import { NumberBuffer } from '../../../engine/storage/number-buffer.js';
import type { EdgeCommands } from '../../../gateway/edge/core/commands.js';
import { EdgePeer, type PeerOptions } from '../../../gateway/edge/core/peer.js';
import { CoreStreams } from '../../../gateway/edge/core/streams.js';
import {
  type Frame,
  type FrameBlock,
  FrameWriter,
  ToCore,
  ToEdge,
} from '../../../gateway/edge/link/frames.js';
import { Connection, type ConnectionOptions } from '../../../gateway/stream/connection.js';
import { OrderEntry } from '../../../gateway/stream/orders/order-entry.js';
import { written } from './captured.js';

const SINK = { add: () => {}, observe: () => {} };
const SESSION = { userId: 1, tokenId: 0, payerId: 1 } as never;
const CANCEL = {
  kind: 'cancel',
  userId: 1,
  idempotencyKey: null,
  marketId: 1,
  orderId: 1,
} as const;

/** A core whose engine answers every command with `code`, and its output. */
class Core {
  readonly sent: number[] = [];
  /** Number of frames sent, each time nothing was in flight. */
  readonly idleAfter: number[] = [];
  /** Answers waiting for the disk, and questions waiting for the history. */
  readonly waiting: (() => void)[] = [];
  readonly asked: ((reply: object) => void)[] = [];
  readonly peer: EdgePeer;

  constructor(code: number) {
    const result = new NumberBuffer();
    result.write(CommandKind.cancel, code, 5, 0, 5, 0);
    const take = (frame: Frame) => this.sent.push(frame.bytes[0]!);
    const connection = new Connection({ limits: {} } as ConnectionOptions);
    connection.signIn(SESSION);
    const gateway = {
      sequencer: {
        engine: { sequence: 5, nowMs: 0, replayed: false, makersSeen: 0 },
        waitingTargets: 0,
        submitRecord: () => result,
        releaseAt: (_: number, target: { release(): void }) =>
          this.waiting.push(() => target.release()),
      },
      history: {
        read: (_request: object, _at: number, done: (reply: object) => void) => {
          this.asked.push(done);
        },
      },
      passwords: { queue: { known: { tell: () => () => {} } } },
      overload: { refuse: () => false },
      sessions: { check: () => SESSION },
      fairUse: { charge: () => null, owe: () => {} },
      metrics: {
        ...{ applyMs: SINK, commitMs: SINK, requestMs: SINK },
        answersOf: () => SINK,
      },
      warnings: { warn: () => {} },
      isStopping: () => false,
      halted: () => null,
      fail: (error: unknown) => {
        throw error;
      },
    };
    this.peer = new EdgePeer({
      gateway,
      served: { ofKind: () => ({ counts: SINK, route: { command: {} } }) },
      sink: {
        send: take,
        sendBlock: (block: FrameBlock) => [...block.frames()].map(take),
      },
      streamsOf: (sink: PeerOptions['sink'], commands: EdgeCommands) =>
        new CoreStreams({
          stream: {
            join: () => connection,
            orders: new OrderEntry(gateway as never, 1),
            publishTo: () => () => {},
          },
          ...{ sink, commands, isStopping: () => false, isBehind: () => false },
        } as unknown as ConstructorParameters<typeof CoreStreams>[0]),
      isCongested: () => false,
      isBehind: () => false,
      onChange: () => {
        if (this.peer.isIdle) this.idleAfter.push(this.sent.length);
      },
    } as unknown as PeerOptions);
  }

  /** Sends one command, then announces that nothing follows. */
  run(isOfStream: boolean): void {
    const records = new RecordBuffer();
    records.append(CANCEL, 0);
    const frame = new FrameWriter();
    const address = new Uint8Array(16);
    if (isOfStream) {
      this.peer.receive(written(frame.begin(ToCore.streamJoined, 1).text('').content(address)));
      frame.begin(ToCore.streamCommand, 1).integer(1);
    } else {
      frame.begin(ToCore.command, 1).integer(this.peer.sessions.numberOf(SESSION)).content(address);
    }
    this.peer.receive(written(frame, records.bytes.subarray(0, records.byteLength)));
    this.sent.length = 0;
    this.peer.turnEnded();
    this.peer.receive(written(new FrameWriter().begin(ToCore.left, 0)));
  }
}

const REPEATED = Float64Array.of(CommandKind.cancel, 0, 4, 0, 0, 0);
const NO_MARKET = { entries: [], nextCursor: null };

test.each([
  ['a repeated key', false, Code.executed_before, REPEATED, ToEdge.result],
  ['a market that has ended', false, Code.market_not_found, NO_MARKET, ToEdge.answer],
  ['a repeated key on a stream', true, Code.executed_before, REPEATED, ToEdge.streamResult],
  ['an ended market on a stream', true, Code.market_not_found, NO_MARKET, ToEdge.streamResult],
])('a command whose answer waits for the history: of %s', (_, isOfStream, code, answer, sent) => {
  const core = new Core(code);
  core.run(isOfStream);
  expect([core.asked.length, core.peer.isIdle]).toEqual([1, false]);
  core.asked[0]!({ status: 'ok', sequence: 5, atMs: 0, answer });
  expect([core.sent, core.idleAfter]).toEqual([[], []]);
  for (const release of core.waiting.splice(0)) release();
  expect(core.sent).toEqual([sent]);
  expect([core.idleAfter, core.peer.isIdle]).toEqual([[1], true]);
});
