/**
 * On a replica, each order of a stream gets one answer, whatever happens to the leader, and no
 * answer denies an execution that may have happened.
 */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Code } from '../../../engine/interface/codes.js';
import { CommandKind } from '../../../engine/interface/commands.js';
import { type ErrorAnswer, errorAnswer, UNAVAILABLE } from '../../../gateway/commands/errors.js';
import { FrameWriter, ResultFlag, ToCore, ToEdge } from '../../../gateway/edge/link/frames.js';
import { CHANGE_TIMEOUT_MS } from '../../../gateway/edge/pending.js';
import { StreamOrders } from '../../../gateway/edge/replica/stream-orders.js';
import type { Sequencing } from '../../../gateway/http/gateway.js';
import { SequenceWaits } from '../../../gateway/http/sequence-waits.js';
import type { Connection } from '../../../gateway/stream/connection.js';
import { CLOSE } from '../../../gateway/stream/limits.js';
import { eventually } from '../../support/eventually.js';
import { CapturedLink, written } from './captured.js';

/** A client of this replica, and the frames sent to the leader. */
class Scene {
  nowMs = 0;
  durableSequence = 10;
  readonly link = new CapturedLink();
  /** Id and code. */
  readonly answers: string[] = [];
  readonly endings: string[] = [];
  readonly connection = {
    userId: 1,
    session: { tokenId: 0 },
    token: 'token',
    addressBytes: new Uint8Array(16),
    cancelOnDisconnect: false,
    outstanding: 0,
    answerRequest: (text: string | Uint8Array) => {
      this.connection.outstanding--;
      const { id, code } = JSON.parse(Buffer.from(text as string).toString());
      this.answers.push(`${id} ${code}`);
    },
    endWhenAnswered: ({ reason }: { reason: string }) => this.endings.push(reason),
  };
  readonly waits = new SequenceWaits(() => this.durableSequence);
  readonly orders: StreamOrders;
  private readonly writer = new FrameWriter();

  constructor() {
    const scene = this;
    this.orders = new StreamOrders({
      link: this.link,
      assets: {} as never,
      waits: this.waits,
      sequencer: {
        get durableSequence() {
          return scene.durableSequence;
        },
      } as Sequencing,
      elapsedMs: () => this.nowMs,
    });
  }

  send(id: string, idempotencyKey: string | null = null, clientSequence = 0): void {
    const command = { kind: 'cancel', userId: 1, idempotencyKey, marketId: 1, orderId: 1 } as const;
    const client = this.connection as unknown as Connection;
    expect(this.orders.send(client, { id, command, clientSequence }, 1)).toBeNull();
  }

  /** Kinds and request numbers of the frames sent to the leader since the last call. */
  taken(): [kind: number, number: number][] {
    const frames = this.link.sent.splice(0);
    return frames.map((frame) => [
      frame.kind,
      frame.kind === ToCore.streamCommand ? frame.integer() : 0,
    ]);
  }

  /** The engine has executed the request without finding the order. */
  answer(number: number, sequence = 5): void {
    const result = [CommandKind.cancel, Code.order_not_found, sequence, 0, 0, 0];
    const frame = this.writer.begin(ToEdge.streamResult, 1).integer(number);
    this.orders.receive(written(frame, new Uint8Array(Float64Array.from(result).buffer)));
  }

  refuse(number: number, { status, text }: ErrorAnswer): void {
    const options = { flags: ResultFlag.written, own: status };
    const frame = this.writer.begin(ToEdge.streamResult, 1, options).integer(number).number(0);
    this.orders.receive(written(frame, text));
  }

  say(kind: number, text = ''): void {
    this.orders.receive(written(this.writer.begin(kind, 1).text(text)));
  }

  loseLeader(): void {
    this.link.isOpen = false;
    this.orders.linkClosed();
  }

  findLeader(): void {
    this.link.isOpen = true;
    this.orders.linkOpened();
  }
}

const JOINED: [number, number] = [ToCore.streamJoined, 0];
const sent = (number: number): [number, number] => [ToCore.streamCommand, number];

let scene: Scene;
beforeEach(() => {
  scene = new Scene();
});
afterEach(() => {
  expect(scene.connection.outstanding).toBe(0);
  scene.orders.stop();
});

test('a request that waited too long is answered once, though its answer comes later', async () => {
  for (const id of ['a', 'b']) scene.send(id);
  expect(scene.taken()).toEqual([JOINED, sent(1), sent(2)]);
  scene.nowMs = CHANGE_TIMEOUT_MS + 1;
  await eventually(() => scene.answers.length === 2);
  scene.answer(1);
  scene.loseLeader();
  scene.findLeader();
  expect(scene.answers).toEqual(['a outcome_unknown', 'b outcome_unknown']);
});

test('when the leader is lost, a keyed request goes to the next one and another is answered', () => {
  scene.send('a', 'key-a');
  scene.send('b');
  scene.send('c', 'key-c');
  scene.send('d', null, 1);
  scene.answer(1);
  scene.loseLeader();
  const lost = ['a order_not_found', 'b outcome_unknown', 'd outcome_unknown'];
  expect(scene.answers).toEqual(lost);
  scene.taken();
  scene.findLeader();
  expect(scene.taken()).toEqual([JOINED, sent(3)]);
  scene.answer(3);
  expect(scene.answers).toEqual([...lost, 'c order_not_found']);
});

test('a leader that dies after it left an order unanswered, before it closed the stream', () => {
  // The leader stops reading a client that is too fast, and reports that without naming a request.
  scene.send('a');
  scene.send('b');
  scene.answer(1);
  scene.loseLeader();
  expect(scene.answers).toEqual(['a order_not_found', 'b outcome_unknown']);
  scene.findLeader();
  scene.send('c');
  scene.answer(3);
  expect(scene.answers.at(-1)).toBe('c order_not_found');
});

test('when the leader closes the client, what it left unanswered was not executed', () => {
  scene.send('a');
  scene.send('b', 'key-b');
  scene.loseLeader();
  scene.findLeader();
  scene.send('c');
  scene.say(ToEdge.streamEnd, CLOSE.rateLimited.reason);
  expect(scene.answers).toEqual(['a outcome_unknown', 'b outcome_unknown', 'c unavailable']);
  expect(scene.endings).toEqual([CLOSE.rateLimited.reason]);
});

test('what a leader that stops returns goes to the next one, in order', () => {
  for (const id of ['a', 'b']) scene.send(id);
  const returned = new FrameWriter().begin(ToEdge.streamNotServed, 1).integer(2);
  scene.orders.receive(written(returned));
  scene.send('c');
  scene.answer(1);
  scene.loseLeader();
  scene.taken();
  scene.findLeader();
  expect(scene.taken()).toEqual([JOINED, sent(2), sent(3)]);
  scene.answer(2);
  scene.answer(3);
  expect(scene.answers).toEqual(['a', 'b', 'c'].map((id) => `${id} order_not_found`));
});

test('one that is sent again and refused before the engine looks at it may have been executed', () => {
  scene.send('a', 'key-a');
  scene.loseLeader();
  scene.findLeader();
  scene.send('b');
  scene.refuse(1, UNAVAILABLE);
  scene.refuse(2, errorAnswer('token_revoked'));
  expect(scene.answers).toEqual(['a outcome_unknown', 'b token_revoked']);
});

test('an answer waits until this replica includes it, and later ones wait behind it', () => {
  scene.send('a');
  scene.send('b');
  scene.answer(1, 11);
  scene.refuse(2, UNAVAILABLE);
  scene.waits.look();
  expect(scene.answers).toEqual([]);
  scene.durableSequence = 11;
  scene.waits.look();
  expect(scene.answers).toEqual(['a order_not_found', 'b unavailable']);
});

test('a client whose end cancels its orders, and that left without a leader, is reported to the next', () => {
  const client = scene.connection as unknown as Connection;
  scene.connection.cancelOnDisconnect = true;
  scene.orders.signedIn(client);
  scene.loseLeader();
  scene.orders.closed(client);
  scene.taken();
  const closed = [ToCore.streamClosed, 0];
  for (const told of [[JOINED, closed], []]) {
    scene.findLeader();
    expect(scene.taken()).toEqual(told);
    scene.loseLeader();
  }
});

test('what waits is bounded in bytes', () => {
  scene.link.isOpen = false;
  const command = {
    kind: 'cancel',
    userId: 1,
    idempotencyKey: null,
    marketId: 1,
    orderId: 1,
  } as const;
  const client = scene.connection as unknown as Connection;
  const send = () => scene.orders.send(client, { id: 'a', command, clientSequence: 0 }, 1);
  let accepted = 0;
  while (send() === null) accepted++;
  expect(accepted).toBeGreaterThan(20_000);
  expect(accepted).toBeLessThan(40_000);
  scene.orders.closed(client);
  expect(send()).toBeNull();
  scene.orders.closed(client);
  scene.connection.outstanding = 0;
});
