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
import { tokenIn } from '../auth/cookie.js';
import type { ReceivedBody } from '../http/body.js';
import type { Call } from '../http/call.js';
import { OUTCOME_UNKNOWN } from '../http/errors.js';
import { IDEMPOTENCY_KEY } from '../http/request.js';
import type { Route } from '../http/route.js';
import { serve } from '../http/way.js';
import {
  type Answered,
  CHANGE_MS,
  type Forwardable,
  type Forwarder,
  READ_MS,
} from './forwarder.js';
import type { LastAnswers } from './last-answers.js';
import type { RequestHead } from './link-frames.js';

/** The maximum age of the state from which a replica answers. */
export const AGE_MS_MAX = 1_000;

export interface ReplicaState {
  forwarder: Forwarder;
  lastAnswers: LastAnswers;
  /** This replica's state includes everything that was acknowledged at least that long ago. */
  ageMs: () => number;
}

export class ReplicaAdmission {
  constructor(private readonly state: ReplicaState) {}

  readonly serve = (call: Call, route: Route, body: ReceivedBody): void => {
    if (body.unread) call.closeAfterAnswer();
    if (call.gateway.isStopping()) call.refuseUnavailable();
    else if (this.isAnsweredHere(call, route)) serve(call, route, body);
    else this.forward(call, route, body);
  };

  private isAnsweredHere(call: Call, route: Route): boolean {
    if (route.body !== undefined || route.answeredBy === 'leader') return false;
    if (route.answeredBy === 'process') return true;
    if (route.access === 'partner' || this.state.ageMs() > AGE_MS_MAX) return false;
    const { request, gateway } = call;
    const token = tokenIn(request);
    if (token === '' || route.access === 'open') return true;
    const session = gateway.sessions.check(token, call.engine);
    if (typeof session === 'string') return false;
    call.minSequence = this.state.lastAnswers.of(session.userId);
    return true;
  }

  private forward(call: Call, route: Route, body: ReceivedBody): void {
    const isChange = route.body !== undefined;
    const head: RequestHead = {
      method: route.method,
      route: route.path,
      parameters: call.request.rawParameters,
      query: call.request.rawQuery,
      address: Buffer.from(call.addressBytes).toString('hex'),
      headers: call.request.headersToForward(call.isSecure),
      ...(body.tooLarge ? { isTooLarge: true } : {}),
    };
    const request: Forwardable = {
      head,
      body: body.bytes,
      isChange,
      isRepeatable: !isChange || isKeyed(call, route),
      waitMs: isChange ? CHANGE_MS : READ_MS,
    };
    this.state.forwarder.send(request, this.answering(call, route));
  }

  private answering(call: Call, route: Route): Answered {
    const { waits, sequencer } = call.gateway;
    const { lastAnswers } = this.state;
    return (answer, body) => {
      if (typeof answer !== 'string') {
        const { sequence, userId } = answer;
        lastAnswers.note(userId, sequence);
        const relay = () => {
          if (!call.isOver) call.relay({ ...answer, body });
        };
        if (isOfCredentials(route) && sequence > sequencer.durableSequence)
          waits.wait(sequence, relay);
        else relay();
      } else if (call.isOver) return;
      // A read executes nothing, whatever became of it.
      else if (answer === 'unknown' && route.body !== undefined) call.refuseNow(OUTCOME_UNKNOWN);
      else call.refuseOverloaded();
    };
  }
}

/** A new token is answered when this replica knows it: it may be used at once, for a stream. */
function isOfCredentials({ setsCookie, handlesCredentials }: Route): boolean {
  return setsCookie === true || handlesCredentials === true;
}

/** Whether the leader executes the request once, however often it is sent. */
function isKeyed({ request }: Call, { idempotent }: Route): boolean {
  const { idempotencyKeys, idempotencyKey } = request;
  return idempotent === true && idempotencyKeys === 1 && IDEMPOTENCY_KEY.test(idempotencyKey);
}
