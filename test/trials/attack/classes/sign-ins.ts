/** Floods of sign-ins. Each is answered, and none keeps another address from signing in. */
import { HOST } from '../../../../bench/http/load/messages.js';
import type { Attack, AttackClass } from '../attack.js';
import { floodSignIns, type Origin } from '../methods/sign-in-flood.js';
import { mustBeLinux, mustHold } from '../promises.js';

/** Passwords of the flood that may be checked first: addresses are served in turn. */
const CHECKED_MOST = 10;
const LOGINS = 500;
const ADDRESSES = 100;

const flooded = (name: string, flood: readonly Origin[], isKnown: boolean): Attack => ({
  name,
  done: `${LOGINS} logins of unknown names at once from ${flood.length} addresses, and one login from another`,
  run: async ({ exchange }) => {
    mustBeLinux('enough loopback addresses');
    const baseUrl = `http://${HOST}:${exchange.port}`;
    const figures = await floodSignIns({ baseUrl, logins: LOGINS, flood, isKnown });
    const { clientStatus, clientMs, checkedMeanwhile, floodStatuses, slowestMs } = figures;
    const statuses = Object.entries(floodStatuses).map(([status, count]) => `${count} × ${status}`);
    const figure = `the login took ${clientMs.toFixed(0)} ms, ${checkedMeanwhile} checks; the flood got ${statuses.join(', ')} within ${slowestMs.toFixed(0)} ms`;
    mustHold(clientStatus === 200, `the login was answered ${clientStatus}; ${figure}`);
    mustHold(checkedMeanwhile < CHECKED_MOST, figure);
    mustHold(floodStatuses[0] === undefined, `not all were answered: ${figure}`);
    return figure;
  },
});

const ONE: readonly Origin[] = [{ localAddress: '127.0.0.2' }];
const MANY: readonly Origin[] = Array.from({ length: ADDRESSES }, (_, i) => ({
  localAddress: `127.0.1.${i + 1}`,
}));

export const signIns: AttackClass = {
  name: 'sign-ins',
  // A hash takes some 60 ms, as it does by default.
  variables: { PASSWORD_COST_LOG2: '15' },
  attacks: [
    flooded('one address against a stranger', ONE, false),
    flooded('one address against a client', ONE, true),
    flooded(`${ADDRESSES} addresses against a client`, MANY, true),
  ],
};
