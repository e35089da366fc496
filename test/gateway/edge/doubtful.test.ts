/**
 * Requests that a leader has received but not answered. A change may have been executed even if the
 * next leader refuses it before checking the key. A read can be answered without a leader.
 */
import { expect, test } from 'vitest';
import { KnownAddresses } from '../../../gateway/access/fair-use/known-addresses.js';
import { Forwarder } from '../../../gateway/edge/forwarder.js';
import { FrameWriter, ToEdge } from '../../../gateway/edge/link/frames.js';
import type { Reply } from '../../../gateway/http/answers/reply.js';
import { ReceivedBody } from '../../../gateway/http/body.js';
import { Request } from '../../../gateway/http/request.js';
import type { Route } from '../../../gateway/http/route.js';
import { ROUTES } from '../../../gateway/resources/routes.js';
import { eventually } from '../../support/eventually.js';
import { CapturedLink, written } from './captured.js';

const NONE = new Uint8Array(0);
const routeOf = (path: string): Route => ROUTES.find((route) => route.path === path)!;
const writer = new FrameWriter();

/** A request that collects the statuses of its answers. */
function asked(answers: number[]): Reply {
  const raw = {
    getQuery: () => '',
    getParameter: () => undefined,
    forEach: (read: (name: string, value: string) => void) => read('idempotency-key', 'key'),
  };
  return {
    request: new Request(raw, 'post', false),
    outlet: { addressBytes: NONE },
    isOver: false,
    isSecure: false,
    relay: ({ status }: { status: number }) => answers.push(status),
    refuseNow: ({ status }: { status: number }) => answers.push(status),
  } as unknown as Reply;
}

test.each([
  ['a change', '/batch', 503, 504],
  ['a change', '/batch', 429, 504],
  ['a change', '/batch', 401, 504],
  ['a change', '/batch', 200, 200],
  ['a change', '/batch', 409, 409],
  ['a read', '/vaults', 503, 503],
] as const)('%s to %s that is sent again and answered with %i', (_name, path, status, expected) => {
  const link = new CapturedLink();
  const known = new KnownAddresses();
  const assets = {} as never;
  const forwarder = new Forwarder({ link, assets, elapsedMs: () => 0, mayMove: true, known });
  const answers: number[] = [];
  const send = () => forwarder.forward(asked(answers), routeOf(path), new ReceivedBody(NONE));
  const answer = () => {
    writer.begin(ToEdge.answer, link.sent.at(-1)!.id, { own: status });
    writer.number(0).integer(0).integer(0).number(0).text('').texts([]);
    forwarder.receive(written(writer));
  };
  send();
  forwarder.closed();
  forwarder.opened();
  expect([link.sent.length, forwarder.sentAgainCount]).toEqual([2, 1]);
  answer();
  // If no earlier leader has received the request, the refusal is passed on.
  send();
  answer();
  expect(answers).toEqual([expected, status]);
});

test('a read that the leader does not answer is answered here: when the leader is lost or silent', async () => {
  const link = new CapturedLink();
  let nowMs = 0;
  let silences = 0;
  const forwarder = new Forwarder({
    link,
    assets: {} as never,
    elapsedMs: () => nowMs,
    mayMove: true,
    known: new KnownAddresses(),
    onSilent: () => silences++,
  });
  const answers: number[] = [];
  let canAnswer = true;
  const answerHere = () => {
    if (canAnswer) answers.push(200);
    return canAnswer;
  };
  const route = routeOf('/vaults');
  const read = () =>
    forwarder.forward(
      { ...asked(answers), refuseOverloaded: () => answers.push(503) } as unknown as Reply,
      route,
      new ReceivedBody(NONE),
      answerHere,
    );
  read();
  forwarder.closed();
  expect([answers, silences]).toEqual([[200], 0]);
  read();
  nowMs += 1_000;
  await eventually(() => answers.length === 2);
  expect([answers, silences, forwarder.count]).toEqual([[200, 200], 1, 0]);
  canAnswer = false;
  read();
  forwarder.closed();
  expect(answers).toEqual([200, 200, 503]);
});
