/** On a gateway: each request of a client gets one answer, whatever becomes of the leader. */
import { afterEach, expect, test } from 'vitest';
import { CHANGE_MS } from '../../../gateway/edge/forwarder.js';
import { FrameWriter, ToCore, ToEdge } from '../../../gateway/edge/link/frames.js';
import { StreamOrders } from '../../../gateway/edge/replica/stream-orders.js';
import type { Sequencing } from '../../../gateway/http/gateway.js';
import type { Connection } from '../../../gateway/stream/connection.js';
import { SequenceWaits } from '../../../gateway/time/sequence-waits.js';
import { eventually } from '../../support/eventually.js';
import { CapturedLink, written } from './captured.js';

const OUTSTANDING_MAX = 3;
const ORDER = { op: 'order', operation: { op: 'cancel' } };

/** A client of this gateway, and what the leader is sent. */
class Scene {
  nowMs = 0;
  readonly link = new CapturedLink();
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
  readonly orders = new StreamOrders({
    link: this.link,
    waits: new SequenceWaits(() => 0),
    sequencer: { durableSequence: 0 } as unknown as Sequencing,
    elapsedMs: () => this.nowMs,
    outstandingMax: OUTSTANDING_MAX,
  });

  send(id: string, idempotencyKey?: string) {
    const json = { ...ORDER, id, ...(idempotencyKey === undefined ? {} : { idempotencyKey }) };
    const client = this.connection as unknown as Connection;
    return this.orders.send(client, json, Buffer.from(JSON.stringify(json)));
  }

  /** The leader's answer to the oldest request that it has. */
  answerFromLeader(id: string): void {
    const text = JSON.stringify({ type: 'receipt', id });
    const frame = new FrameWriter().begin(ToEdge.streamText, this.link.sent[0]!.id).number(0);
    this.orders.receive(written(frame, text));
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
  expect(kinds).toEqual([ToCore.streamJoined, ToCore.streamMessage]);
  scene.answerFromLeader('3');
  expect(scene.answers.at(-1)).toEqual({ type: 'receipt', id: '3' });
  expect(scene.connection.outstanding).toBe(0);
});
