import type { z } from 'zod';
import { TokenScope } from '../../../engine/interface/domain.js';
import { MAX_TIME_MS } from '../../../engine/interface/limits.js';
import { idNumber, tokenScopeName } from '../../../engine/interface/notation.js';
import type { AccessTokenView } from '../../../engine/interface/views.js';
import { resultFields } from '../../commands/receipt.js';
import type { Call } from '../../http/call.js';
import { errorAnswer, invalidRequest } from '../../http/errors.js';
import { defineRoute, type Route } from '../../http/route.js';
import { EmptyBody } from '../../json/fields.js';
import { jsonText } from '../../json/serializer.js';
import { CreatedToken, TokenBody, Tokens } from './schemas.js';

const SCOPES = { read: TokenScope.READ, trade: TokenScope.TRADE } as const;

export const tokenRoutes: Route[] = [
  defineRoute('POST', '/auth/tokens', {
    access: 'session',
    handlesCredentials: true,
    summary: 'Create a named token for a program; the token is shown only in this answer',
    quota: 'signIns',
    body: TokenBody,
    responses: { 201: CreatedToken },
    errors: ['limit_reached'],
    handle: (call) => createToken(call, call.userId),
  }),

  defineRoute('GET', '/auth/tokens', {
    access: 'session',
    answeredBy: 'leader',
    summary: 'Your named tokens, oldest first, with those that have expired in the last week',
    responses: { 200: Tokens },
    handle: (call) => listTokens(call, call.userId),
  }),

  defineRoute('DELETE', '/auth/tokens/:tokenId', {
    access: 'session',
    handlesCredentials: true,
    summary:
      'Revoke a named token, yours or of a sub-account: it is refused at once, and its streams are closed',
    body: EmptyBody,
    responses: { 204: null },
    errors: ['token_not_found'],
    handle(call) {
      const tokenId = idNumber('k', call.parameter('tokenId'));
      const owner = call.engine.token(tokenId)?.userId ?? 0;
      const userId = call.engine.payer(owner) === call.userId ? owner : call.userId;
      if (tokenId === 0) call.refuseWhenDurable(errorAnswer('token_not_found'));
      else call.execute({ kind: 'revokeToken', userId, tokenId }, 204, () => '');
    },
  }),
];

/** For the user of the session, or a sub-account of it. */
export async function createToken(
  call: Call<z.output<typeof TokenBody>>,
  userId: number,
): Promise<void> {
  const { engine, gateway, body } = call;
  const { expiresAtMs = MAX_TIME_MS, allowedAddresses = [] } = body;
  if (expiresAtMs <= Math.max(engine.nowMs, gateway.clock.nowMs())) {
    call.refuseNow(invalidRequest({ expiresAtMs: 'must be in the future' }));
    return;
  }
  const result = call.submit({
    kind: 'createToken',
    userId,
    scope: SCOPES[body.scope],
    expiresAtMs,
    name: body.name,
    allowedAddresses: allowedAddresses.join(','),
  });
  if (result === null) return;
  const { tokenId, sequence, atMs } = resultFields('createToken', result);
  const view = engine.token(tokenId)!;
  const token = await gateway.sessions.issueNamed(view, engine.credentialVersion(userId));
  const shown = { ...namesOf(view), token, ...timesOf(view), ...addressesOf(view) };
  const text = jsonText<typeof CreatedToken>({ ...shown, sequence, atMs });
  call.answerWhenDurable(201, text, sequence);
}

export function listTokens(call: Call, userId: number): void {
  const { engine, gateway } = call;
  const tokens = engine.tokens(userId).map((token) => ({
    ...namesOf(token),
    ...timesOf(token),
    lastUsedAtMs: gateway.sessions.lastUsedAtMs(token.tokenId),
    ...addressesOf(token),
  }));
  call.answerJson<typeof Tokens>({ tokens, ...call.trueAt });
}

function namesOf({ tokenId, name, scope }: AccessTokenView) {
  return { tokenId: `k${tokenId}`, name, scope: tokenScopeName(scope) };
}

function timesOf({ createdAtMs, expiresAtMs }: AccessTokenView) {
  return { createdAtMs, expiresAtMs: expiresAtMs === MAX_TIME_MS ? null : expiresAtMs };
}

function addressesOf({ allowedAddresses }: AccessTokenView) {
  return { allowedAddresses: allowedAddresses === '' ? null : allowedAddresses.split(',') };
}
