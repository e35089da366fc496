/**
 * How a replica answers a request: a read from its own state, everything else by asking the leader.
 *
 * Always holds:
 * - every request that may change something is decided by the leader alone, and its answer is
 *   passed on as it is;
 * - a read is answered here only while this replica's state is at most {@link AGE_MS_MAX} old;
 *   otherwise the leader answers it;
 * - a read of a signed-in user is at least as new as the last answer that this replica has given to
 *   the user. A token that this replica does not accept is the leader's to judge: it may be newer
 *   than the replica.
 */
import { tokenIn } from '../../access/cookie.js';
import type { Call } from '../../http/call.js';
import type { Route } from '../../http/route.js';
import { serve } from '../../http/way.js';
import type { Forwarder } from '../forwarder.js';
import type { LastAnswers } from './last-answers.js';

/** The maximum age of the state from which a replica answers. */
export const AGE_MS_MAX = 1_000;

export interface ReplicaState {
  forwarder: Forwarder;
  lastAnswers: LastAnswers;
  /** This replica's state includes everything that was acknowledged at least that long ago. */
  ageMs: () => number;
}

export function replicaService(state: ReplicaState): typeof serve {
  return (call, route, body) => {
    if (body.unread) call.closeAfterAnswer();
    if (call.gateway.isStopping()) call.refuseUnavailable();
    else if (isAnsweredHere(call, route, state)) serve(call, route, body);
    else state.forwarder.forward(call, route, body);
  };
}

function isAnsweredHere(call: Call, route: Route, { ageMs, lastAnswers }: ReplicaState): boolean {
  if (route.body !== undefined || route.answeredBy === 'leader') return false;
  if (route.answeredBy === 'process') return true;
  if (route.access === 'partner' || ageMs() > AGE_MS_MAX) return false;
  const { request, gateway } = call;
  const token = tokenIn(request);
  if (token === '' || route.access === 'open') return true;
  const session = gateway.sessions.check(token, call.engine);
  if (typeof session === 'string') return false;
  call.minSequence = lastAnswers.of(session.userId);
  return true;
}

/** A new token is answered when this replica knows it: it may be used at once, for a stream. */
export function isOfCredentials({ setsCookie, handlesCredentials }: Route): boolean {
  return setsCookie === true || handlesCredentials === true;
}
