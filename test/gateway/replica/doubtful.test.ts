/**
 * A change that an earlier leader may have executed, and that the next one refuses before it looks
 * at the key: nobody may say that it was not executed.
 */
import { expect, test } from 'vitest';
import { errorAnswer } from '../../../gateway/http/errors.js';
import { type Answered, Forwarder } from '../../../gateway/replica/forwarder.js';
import type { LeaderLink } from '../../../gateway/replica/leader-link.js';
import { type AnswerHead, FrameKind } from '../../../gateway/replica/link-frames.js';
import type { Connection } from '../../../gateway/stream/connection.js';
import { RemoteOrders } from '../../../gateway/stream/orders/remote-orders.js';
import { SequenceWaits } from '../../../gateway/time/sequence-waits.js';

/** A connection to a leader, whose answers the test makes. */
function linkOf() {
  const frames: Uint8Array[] = [];
  const link = { isOpen: true, send: (frame: Uint8Array) => frames.push(frame), leave: () => {} };
  return { link: link as unknown as LeaderLink, frames };
}

const NONE = new Uint8Array(0);
const HEAD = { method: 'POST', route: '/batch', parameters: [], query: '', address: '' };

test.each([
  ['a change', true, 503, 'unknown'],
  ['a change', true, 429, 'unknown'],
  ['a change', true, 401, 'unknown'],
  ['a change', true, 200, 200],
  ['a change', true, 409, 409],
  ['a read', false, 503, 503],
] as const)(
  '%s that is sent again and answered with %s %i',
  (_name, isChange, status, expected) => {
    const { link, frames } = linkOf();
    const forwarder = new Forwarder(link, () => 0);
    const answers: (number | string)[] = [];
    const answered: Answered = (answer) =>
      answers.push(typeof answer === 'string' ? answer : answer.status);
    const send = () =>
      forwarder.send(
        {
          head: { ...HEAD, headers: [] },
          body: NONE,
          isChange,
          isRepeatable: true,
          waitMs: 10_000,
        },
        answered,
      );
    const answer = (number: number) => {
      const head: AnswerHead = { status, contentType: '', headers: [], sequence: 0, userId: 0 };
      forwarder.receive({ kind: FrameKind.answer, number, head, body: NONE });
    };
    send();
    forwarder.closed();
    forwarder.opened();
    expect([frames.length, forwarder.sentAgainCount]).toEqual([2, 1]);
    answer(1);
    // One that no earlier leader has received is refused as it is.
    send();
    answer(2);
    expect(answers).toEqual([expected, status]);
  },
);

test('the same on the stream', () => {
  const { link } = linkOf();
  const sequencer = { durableSequence: 5 } as never;
  const options = { link, waits: new SequenceWaits(() => 5), sequencer, outstandingMax: 9 };
  const orders = new RemoteOrders({ ...options, elapsedMs: () => 0 });
  const answers: string[] = [];
  const connection = {
    session: {},
    token: 't',
    addressBytes: NONE,
    cancelOnDisconnect: false,
    outstanding: 0,
    answerRequest: (text: string | Uint8Array) => {
      connection.outstanding--;
      answers.push(Buffer.from(text).toString());
    },
  } as unknown as Connection;
  const send = (id: string) => {
    const json = { op: 'order', id, idempotencyKey: id };
    expect(orders.send(connection, json, Buffer.from(JSON.stringify(json)))).toBeNull();
  };
  const refuse = (id: string) => {
    const { error } = JSON.parse(errorAnswer('unavailable', { executed: false }).text);
    const body = Buffer.from(JSON.stringify({ type: 'error', id, ...error }));
    orders.receive({ kind: FrameKind.clientAnswer, number: 1, head: { sequence: 5 }, body });
  };
  send('a');
  orders.linkClosed();
  orders.linkOpened();
  send('b');
  refuse('a');
  refuse('b');
  const codes = answers.map((text) => JSON.parse(text)).map(({ id, code }) => `${id} ${code}`);
  expect(codes).toEqual(['a outcome_unknown', 'b unavailable']);
  expect(connection.outstanding).toBe(0);
  orders.closed(connection);
  orders.stop();
});
