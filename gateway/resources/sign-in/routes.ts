/** Registration, sign-in and passwords. */

import { z } from 'zod';
import { clearedSessionCookie, sessionCookie } from '../../access/cookie.js';
import { CODE_LENGTH_MAX, fitsCode } from '../../access/sign-in-codes.js';
import { errorAnswer } from '../../commands/errors.js';
import { resultFields } from '../../commands/receipt.js';
import type { Call } from '../../http/call.js';
import { defineRoute, type Route } from '../../http/route.js';
import { submitFor } from '../../http/submission.js';
import { isNameOfHouse } from '../../inputs/house/house.js';
import { bodyObject, responseObject } from '../../json/components.js';
import * as request from '../../json/fields.js';
import { state, userId, username } from '../../json/response-fields.js';
import { jsonText } from '../../json/serializer.js';

const RegisterBody = bodyObject('RegisterBody', 'A new account', {
  username: request.username,
  password: request.password.describe('The password'),
  referralCode: request.referralCode
    .optional()
    .describe('A code that identifies the user who referred another'),
});
const LoginBody = bodyObject('LoginBody', 'The credentials of a user', {
  username,
  password: request.triedPassword.describe('The password'),
});
const RecoverBody = bodyObject('RecoverBody', 'A new password, with a code of the operator', {
  username,
  code: z.string().max(CODE_LENGTH_MAX, 'is too long').describe('The code from the operator'),
  newPassword: request.password.describe('The new password'),
});
const PasswordBody = bodyObject('PasswordBody', 'A change of password', {
  ...request.own,
  currentPassword: request.triedPassword.describe('The current password'),
  newPassword: request.password.describe('The new password; all tokens end'),
});

const token = z.string().describe('The session token, for the header `x-user-token`');

export const SignedIn = responseObject('SignedIn', 'A signed-in user and the token', {
  userId,
  username,
  token,
  referralCode: z.string().describe('A code that identifies the user who referred another'),
  ...state,
});
export const NewToken = responseObject('NewToken', 'A token that replaces older ones', {
  token,
  ...state,
});
export const SessionOwner = responseObject('SessionOwner', 'Who is signed in', {
  userId,
  username,
  ...state,
});

export const signInRoutes: Route[] = [
  defineRoute('POST', '/auth/register', {
    access: 'openOrPartner',
    summary:
      'Create an account and sign in; with a partner’s key, the account belongs to that partner permanently',
    quota: 'signIns',
    body: RegisterBody,
    responses: { 201: SignedIn },
    errors: ['username_taken', 'limit_reached'],
    setsCookie: true,
    async handle(call) {
      const { username, password, referralCode = '' } = call.body;
      const { engine, gateway, partner } = call;
      if (engine.findUser(username) !== 0 || isNameOfHouse(username)) {
        call.refuseWhenDurable(errorAnswer('username_taken'));
        return;
      }
      const credential = await hashOrRefuse(call, password);
      if (credential === null) return;
      const grantMicros = gateway.config.startingBalanceMicros;
      const fields = { username, credential, referralCode, grantMicros, partner };
      const result = submitFor(call, { kind: 'register', ...fields });
      if (result === null) return;
      await answerSignedIn(call, resultFields('register', result).userId, 201);
    },
  }),

  defineRoute('POST', '/auth/login', {
    access: 'open',
    summary: 'Sign in',
    quota: 'signIns',
    body: LoginBody,
    responses: { 200: SignedIn },
    errors: ['wrong_credentials'],
    setsCookie: true,
    async handle(call) {
      const { username, password } = call.body;
      if (!call.chargeSignIn(username)) return;
      const userId = call.engine.findUser(username);
      if (await isPasswordOf(call, userId, password)) await answerSignedIn(call, userId, 200);
    },
  }),

  defineRoute('POST', '/auth/recovery', {
    access: 'open',
    summary:
      'Set a new password with a one-time code from the operator, and sign in; all older tokens have ended',
    quota: 'signIns',
    body: RecoverBody,
    responses: { 200: SignedIn },
    errors: ['wrong_credentials'],
    setsCookie: true,
    async handle(call) {
      const { engine, gateway } = call;
      const { username, code, newPassword } = call.body;
      if (!call.chargeSignIn(username)) return;
      const userId = engine.findUser(username);
      const fits = () =>
        fitsCode(
          engine.credential(userId) ?? '',
          code,
          Math.max(engine.nowMs, gateway.clock.nowMs()),
        );
      const credential = fits() ? await hashOrRefuse(call, newPassword) : '';
      if (credential === null) return;
      // Another request may have used the code during the hash.
      if (!fits()) {
        call.refuseWhenDurable(errorAnswer('wrong_credentials'));
        return;
      }
      if (submitFor(call, { kind: 'setCredential', userId, credential }) === null) return;
      await answerSignedIn(call, userId, 200);
    },
  }),

  defineRoute('POST', '/auth/logout', {
    access: 'open',
    summary: 'Clear the session cookie; the token itself stays valid until the password changes',
    quota: 'reads',
    body: request.EmptyBody,
    responses: { 204: null },
    setsCookie: true,
    handle(call) {
      call.addHeader('Set-Cookie', clearedSessionCookie(call.isSecure));
      call.answerWhenDurable(204, '');
    },
  }),

  defineRoute('PUT', '/auth/password', {
    access: 'session',
    handlesCredentials: true,
    summary: 'Change your password; all older tokens are revoked immediately',
    quota: 'signIns',
    body: PasswordBody,
    responses: { 200: NewToken },
    errors: ['wrong_credentials'],
    setsCookie: true,
    async handle(call) {
      const { engine, userId, gateway } = call;
      const { currentPassword, newPassword } = call.body;
      const before = engine.credentialVersion(userId);
      if (!(await isPasswordOf(call, userId, currentPassword))) return;
      const credential = await hashOrRefuse(call, newPassword);
      if (credential === null) return;
      // Another change may have revoked this session during the hash.
      if (engine.credentialVersion(userId) !== before) {
        call.refuseWhenDurable(errorAnswer('token_revoked'));
        return;
      }
      const result = submitFor(call, { kind: 'setCredential', userId, credential });
      if (result === null) return;
      const { version, sequence, atMs } = resultFields('setCredential', result);
      const token = await gateway.sessions.issue(userId, version, engine.nowMs);
      call.addHeader('Set-Cookie', sessionCookie(token, call.isSecure));
      call.answerJson<typeof NewToken>({ token, sequence, atMs }, sequence);
    },
  }),

  defineRoute('GET', '/auth/session', {
    access: 'session',
    summary: 'The signed-in user',
    responses: { 200: SessionOwner },
    handle(call) {
      const { userId, username } = call.engine.account(call.userId)!;
      call.answerJson<typeof SessionOwner>({ userId: `u${userId}`, username, ...call.asOf });
    },
  }),
];

/** `null` if the client left, or too many are queued and the request was refused. */
async function hashOrRefuse(call: Call, password: string): Promise<string | null> {
  const credential = await call.gateway.passwords.hash(password, call);
  if (call.isOver) return null;
  if (credential === null) refuseBusy(call);
  return credential;
}

/** If not, refuses the request. An unknown user (0) takes as long as a wrong password. */
async function isPasswordOf(call: Call, userId: number, password: string): Promise<boolean> {
  const { engine, gateway } = call;
  const credential = engine.credential(userId) ?? '';
  const fits = await gateway.passwords.verify(password, credential, call);
  if (call.isOver) return false;
  if (fits === null) {
    refuseBusy(call);
    return false;
  }
  if (fits && engine.credential(userId) === credential) return true;
  call.refuseWhenDurable(errorAnswer('wrong_credentials'));
  return false;
}

/** Too many passwords are being hashed, or the exchange is stopping. */
function refuseBusy(call: Call): void {
  call.addHeader('Retry-After', '1');
  call.refuseUnavailable();
}

async function answerSignedIn(call: Call, userId: number, status: number): Promise<void> {
  const { engine, gateway } = call;
  const at = call.asOf;
  const { username } = engine.account(userId)!;
  const { code: referralCode } = engine.referral(userId)!;
  const version = engine.credentialVersion(userId);
  const token = await gateway.sessions.issue(userId, version, engine.nowMs);
  call.addHeader('Set-Cookie', sessionCookie(token, call.isSecure));
  const fields = { userId: `u${userId}`, username, token, referralCode, ...at };
  call.answerWhenDurable(status, jsonText<typeof SignedIn>(fields), at.sequence);
}
