/** The examples of the routes of operators. A test gets each of them from the exchange. */
import type { RouteExample } from '../../http/route.js';

export const health: RouteExample = { response: { status: 'ok' } };

export const ready: RouteExample = { response: { status: 'ready' } };

export const status: RouteExample = {
  response: {
    version: '1.0.0',
    sequence: 52,
    durableSequence: 52,
    digest: '6b0c94e7d1f2a385',
    startedAtMs: 1763700300000,
  },
};

export const metrics: RouteExample = {
  response: '# HELP exchange_users Accounts\n# TYPE exchange_users gauge\nexchange_users 2\n',
};
