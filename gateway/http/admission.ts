/** Admission of HTTP requests (commands/intake.ts), and the answers to refused ones. */
import { isSameSite, readSessionCookie, tokenIn } from '../access/cookie.js';
import { errorAnswer, rateLimited, UNKNOWN_PARTNER_KEY } from '../commands/errors.js';
import { type AdmissionRequest, admit } from '../commands/intake.js';
import type { ReceivedBody } from './body.js';
import type { Call } from './call.js';
import type { Route } from './route.js';

const SECOND_MS = 1_000;
const MISSING_TOKEN = errorAnswer('missing_token');

export function admitCall(call: Call, route: Route, body: ReceivedBody): boolean {
  const { gateway, request, wallet } = call;
  if (typeof route.quota === 'function') wallet.quota = route.quota(body);
  wallet.leastUnits = body.units;
  const admissionRequest = admissionRequestOf(call, route, body);
  const admission = admit(gateway, call.outlet, admissionRequest, wallet.bill);
  wallet.rateLimit = admission.rateLimit;
  if (admission.refusal !== null) return call.refuseAdmission(admission);
  const { session } = admission;
  call.session = session;
  wallet.bill.payer = session;
  if (session !== null && request.userToken === '')
    gateway.passwords.queue.known.renew(call.address);
  return admitUncounted(call, admissionRequest) && admitKey(call, route);
}

function admissionRequestOf(call: Call, route: Route, body: ReceivedBody): AdmissionRequest {
  const { request } = call;
  const { quota } = call.wallet;
  const { access, method, handlesCredentials = false } = route;
  const isOfUser = access === 'session' || access === 'public';
  const asked = route.units?.(request.rawQuery, body) ?? 1;
  const counted = quota === null ? asked : Math.max(asked, body.units);
  return {
    quota,
    units: access === 'operator' ? 0 : counted,
    isPaidByAddress: false,
    right: handlesCredentials ? 'password' : method === 'GET' ? 'read' : 'trade',
    unauthenticatedError: access === 'session' ? MISSING_TOKEN : null,
    token: isOfUser ? tokenIn(request) : '',
    known: null,
    isCrossSite: method !== 'GET' && isCrossSite(call, route),
  };
}

/** Changes made with the session cookie must not come from another site, even without a session. */
function isCrossSite({ request, gateway }: Call, { access }: Route): boolean {
  if (access === 'partner' || access === 'operator') return false;
  const isByCookie = request.userToken === '' || access === 'open' || access === 'openOrPartner';
  return (
    isByCookie &&
    readSessionCookie(request.cookie) !== '' &&
    !isSameSite(request, gateway.config.siteOrigins)
  );
}

/** Limits an uncounted request that costs more than one unit. */
function admitUncounted(call: Call, { quota, units }: AdmissionRequest): boolean {
  if (quota !== null || units <= 1 || !call.gateway.fairUse.countFree(call.address, units))
    return true;
  call.closeAfterAnswer();
  const { error, retryAfter } = rateLimited(SECOND_MS);
  call.addHeader('Retry-After', retryAfter);
  return call.refuseNow(error);
}

function admitKey(call: Call, { access }: Route): boolean {
  const { authorization } = call.request;
  const { partners, operators } = call.gateway;
  switch (access) {
    case 'operator':
      call.operator = operators.holderOf(authorization);
      return call.operator !== null || call.refuseNow(errorAnswer('operator_key_required'));
    case 'partner':
      call.partner = partners.holderOf(authorization);
      return call.partner !== null || call.refuseNow(errorAnswer('partner_key_required'));
    case 'openOrPartner': {
      if (authorization === '') return true;
      call.partner = partners.holderOf(authorization);
      // A wrong key must not be ignored, because a new user's partner is permanent.
      const refusal = errorAnswer('partner_key_required', {}, UNKNOWN_PARTNER_KEY);
      return call.partner !== null || call.refuseNow(refusal);
    }
    default:
      return true;
  }
}
