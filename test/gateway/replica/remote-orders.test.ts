/** On a gateway: each request of a client gets one answer, whatever becomes of the leader. */
import { afterEach, expect, test } from 'vitest';
import type { Sequencing } from '../../../gateway/http/gateway.js';
import { CHANGE_MS } from '../../../gateway/replica/forwarder.js';
import type { LeaderLink } from '../../../gateway/replica/leader-link.js';
import { type Frame, FrameKind, frameOf, framesIn } from '../../../gateway/replica/link-frames.js';
import type { Connection } from '../../../gateway/stream/connection.js';
import { RemoteOrders } from '../../../gateway/stream/orders/remote-orders.js';
import { SequenceWaits } from '../../../gateway/time/sequence-waits.js';
import { eventually } from '../../support/eventually.js';

const OUTSTANDING_MAX = 3;
const ORDER = { op: 'order', operation: { op: 'cancel' } };

/** A client of this gateway, and what the leader is sent. */
class Scene {
  nowMs = 0;
  readonly link = {
    isOpen: true,
    sent: [] as Frame[],
    send: (frame: Uint8Array) => this.take(frame),
    leave() {},
  };
  readonly answers: { id?: string; code?: string; type: string }[] = [];
  readonly connection = {
    session: {},
    token: 'token',
    addressBytes: new Uint8Array(16),
    cancelOnDisconnect: false,
    outstanding: 0,
    answerRequest: (text: string | Uint8Array) => {
      this.connection.outstanding--;
      this.answers.push(JSON.parse(Buffer.from(text).toString()));
    },
    end: () => {},
  };
  readonly orders = new RemoteOrders({
    link: this.link as unknown as LeaderLink,
    waits: new SequenceWaits(() => 0),
    sequencer: { durableSequence: 0 } as unknown as Sequencing,
    elapsedMs: () => this.nowMs,
    outstandingMax: OUTSTANDING_MAX,
  });

  private take(frame: Uint8Array): void {
    this.link.sent.push(...framesIn(frame));
  }

  send(id: string, idempotencyKey?: string) {
    const json = { ...ORDER, id, ...(idempotencyKey === undefined ? {} : { idempotencyKey }) };
    const client = this.connection as unknown as Connection;
    return this.orders.send(client, json, Buffer.from(JSON.stringify(json)));
  }

  /** The leader's answer to the oldest request that it has. */
  answerFromLeader(id: string): void {
    const { number } = this.link.sent[0]!;
    const text = JSON.stringify({ type: 'receipt', id });
    const [frame] = framesIn(
      frameOf(FrameKind.clientAnswer, number, '{"sequence":0}', Buffer.from(text)),
    );
    this.orders.receive(frame!);
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

let scene: Scene;
afterEach(() => scene.orders.stop());

test('a request that waited too long is answered once, though its leader is lost afterwards', async () => {
  scene = new Scene();
  for (const id of ['1', '2', '3']) expect(scene.send(id)).toBe(null);
  expect(scene.send('4')).not.toBe(null);
  scene.nowMs = CHANGE_MS + 1;
  await eventually(() => scene.answers.length === 3);
  scene.loseLeader();
  scene.findLeader();
  expect(scene.answers.map(({ id, code }) => [id, code])).toEqual(
    ['1', '2', '3'].map((id) => [id, 'outcome_unknown']),
  );
  expect(scene.connection.outstanding).toBe(0);
  // So the limit of unanswered requests still holds.
  for (const id of ['5', '6', '7']) expect(scene.send(id)).toBe(null);
  expect(scene.send('8')).not.toBe(null);
});

test('when the leader is lost, a keyed request goes to the next one and another is answered', () => {
  scene = new Scene();
  scene.send('1', 'key-1');
  scene.send('2');
  scene.send('3', 'key-3');
  scene.answerFromLeader('1');
  scene.loseLeader();
  expect(scene.answers.map(({ type, id, code }) => [type, id, code])).toEqual([
    ['receipt', '1', undefined],
    ['error', '2', 'outcome_unknown'],
  ]);
  scene.link.sent.length = 0;
  scene.findLeader();
  const kinds = scene.link.sent.map(({ kind }) => kind);
  expect(kinds).toEqual([FrameKind.clientOpened, FrameKind.clientMessage]);
  scene.answerFromLeader('3');
  expect(scene.answers.at(-1)).toEqual({ type: 'receipt', id: '3' });
  expect(scene.connection.outstanding).toBe(0);
});
