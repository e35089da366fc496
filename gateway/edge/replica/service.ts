/**
 * How a replica answers requests: reads from its own state, all others through the leader.
 *
 * Invariants:
 * - Only the leader decides a request that may change something; its answer is passed on as is.
 * - Reads are answered here while this replica's state is at most {@link AGE_MS_MAX} old. After
 *   that, the leader answers if it may know more and answers soon. Otherwise this replica answers
 *   and adds its state's age, up to the age that the operator allows.
 * - A signed-in user's read is at least as new as the last answer this replica gave the user. A
 *   token that this replica does not accept may be newer than its state, so the leader judges it.
 */
import { tokenIn } from '../../access/cookie.js';
import type { Call } from '../../http/call.js';
import { serve } from '../../http/request-pipeline.js';
import type { Route } from '../../http/route.js';
import type { Forwarder } from '../forwarder.js';
import type { LastSequences } from './last-sequences.js';

/** A state counts as current up to this age. */
export const AGE_MS_MAX = 1_000;

export class StateAge {
  constructor(
    private readonly parts: {
      /** The state includes everything that was acknowledged at least this long ago. */
      ageMs: () => number;
      /** Whether the leader can be reached, and may have later commands. */
      leaderMayKnowMore: () => boolean;
      isConnected: () => boolean;
      /** Reads are answered here without a leader up to this age. */
      limitMs: number;
    },
  ) {}

  get ms(): number {
    return this.parts.ageMs();
  }

  get isCurrent(): boolean {
    return this.ms <= AGE_MS_MAX;
  }

  get isAllowed(): boolean {
    return this.isCurrent || this.ms <= this.parts.limitMs;
  }

  get answersHere(): boolean {
    return this.isCurrent || (this.isAllowed && !this.parts.leaderMayKnowMore());
  }

  /** Why reads are not answered, or `null`. */
  get problem(): string | null {
    if (this.answersHere || this.parts.leaderMayKnowMore()) return null;
    return `no leader answers, and the state of this replica is ${this.seconds} s old: reads and changes wait`;
  }

  /** A problem that does not stop reads, or `null`. */
  get warning(): string | null {
    const { leaderMayKnowMore, isConnected } = this.parts;
    if (this.isCurrent) return isConnected() ? null : NO_LEADER;
    if (leaderMayKnowMore())
      return 'this replica cannot follow the journal now: the leader answers reads';
    return `no leader writes now: reads are answered from the state of ${this.seconds} s ago, and changes wait`;
  }

  private get seconds(): number {
    return Math.round(this.ms / 1_000);
  }
}

const NO_LEADER = 'there is no connection to the leader: reads are answered, changes wait';

export interface ReplicaState {
  forwarder: Forwarder;
  lastSequences: LastSequences;
  age: StateAge;
}

export function replicaService(state: ReplicaState): typeof serve {
  const { forwarder, age } = state;
  return (call, route, body) => {
    if (body.unread) call.closeAfterAnswer();
    if (call.gateway.isStopping()) call.refuseUnavailable();
    else if (route.body === undefined && route.answeredBy === 'process') serve(call, route, body);
    else if (!isKnownHere(call, route, state)) forwarder.forward(call, route, body);
    else {
      const answerHere = () => {
        if (!age.isAllowed) return false;
        if (!age.isCurrent) call.addHeader('Behind-Ms', `${Math.round(age.ms)}`);
        serve(call, route, body);
        return true;
      };
      if (age.answersHere) answerHere();
      else forwarder.forward(call, route, body, answerHere);
    }
  };
}

/** Whether this replica's state has the answer, at any age. */
function isKnownHere(call: Call, route: Route, { lastSequences }: ReplicaState): boolean {
  if (route.body !== undefined || route.answeredBy === 'leader' || route.access === 'partner')
    return false;
  const { request, gateway } = call;
  const token = tokenIn(request);
  if (token === '' || route.access === 'open') return true;
  const session = gateway.sessions.check(token, call.engine);
  if (typeof session === 'string') return false;
  call.minSequence = lastSequences.of(session.userId);
  return true;
}

/** Answers of these routes wait until this replica knows the new token, for use in a stream. */
export function isOfCredentials({ setsCookie, handlesCredentials }: Route): boolean {
  return setsCookie === true || handlesCredentials === true;
}
