/** Request path: admission, parsing, and the wait for a sequence. Each step may refuse. */

import { errorAnswer } from '../commands/errors.js';
import { readerKeyOf } from '../commands/history-query.js';
import { admitCall } from './admission.js';
import type { ReceivedBody } from './body.js';
import { Call } from './call.js';
import type { Gateway } from './gateway.js';
import { read } from './reading.js';
import type { Route } from './route.js';
import type { Service } from './server.js';
import { executeFor } from './submission.js';

const NOT_REACHED =
  'The sequence in minSequence was not reached in time. Try again, or ask for a lower one.';

/** The service of a process that has the exchange's state. A replica passes its own `answer`. */
export function serviceOf(gateway: Gateway, answer: typeof serve = serve): Service<Call> {
  return {
    server: gateway,
    begin: (route, counts, request, outlet, inFlight) =>
      new Call(gateway, route, counts, request, outlet, inFlight),
    serve: answer,
  };
}

export function serve(call: Call, route: Route, body: ReceivedBody): void {
  if (body.unread) call.closeAfterAnswer();
  if (!admitCall(call, route, body) || !read(call, route, body)) return;
  if (call.minSequence <= call.engine.sequence) run(call, route);
  else runWhenReached(call, route);
}

function run(call: Call, route: Route): void {
  const { command } = call;
  if (command !== null) {
    const { admit, receipt } = route.command!;
    if (admit === undefined || admit(call, command)) executeFor(call, command, 200, receipt);
    return;
  }
  const pending = route.handle(call);
  if (pending !== undefined) pending.catch(call.gateway.fail);
}

/** The session may end during the wait. */
function runWhenReached(call: Call, route: Route): void {
  const { gateway, session, minSequence } = call;
  const go = (isReached: boolean) => {
    if (call.isOver) return;
    const fault = session === null ? null : gateway.sessions.faultOf(session, call.engine);
    try {
      if (!isReached) refuseBehind(call);
      else if (fault !== null) call.refuseWhenDurable(errorAnswer(fault));
      else run(call, route);
    } catch (error) {
      gateway.fail(error);
    }
  };
  if (call.namesSequence) gateway.waits.waitForNamed(minSequence, readerKeyOf(call), go);
  else gateway.waits.wait(minSequence, go);
}

function refuseBehind(call: Call): void {
  const { sequence } = call.engine;
  call.addHeader('Retry-After', '1');
  call.refuseNow(errorAnswer('unavailable', { executed: false, sequence }, NOT_REACHED));
}
