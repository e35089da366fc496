/**
 * Named tokens: what a user lets a program do. The engine holds their names, scopes and ends; the
 * token itself is in the answer that creates it, and nowhere else.
 */
import { Code } from '../../../engine/interface/codes.js';
import { TokenScope } from '../../../engine/interface/domain.js';
import { MAX_TIME_MS } from '../../../engine/interface/limits.js';
import { idNumber, tokenScopeName } from '../../../engine/interface/notation.js';
import { ResultHead } from '../../../engine/interface/results.js';
import type { AccessTokenView } from '../../../engine/interface/views.js';
import { errorAnswer, invalidRequest } from '../../http/errors.js';
import { resultFields } from '../../http/receipt.js';
import { defineRoute, type Route } from '../../http/route.js';
import { EmptyBody } from '../../json/fields.js';
import { serializer } from '../../json/serializer.js';
import * as examples from './examples.js';
import { CreatedToken, TokenBody, Tokens } from './schemas.js';

const createdText = serializer(CreatedToken);
const tokensText = serializer(Tokens);
const SCOPES = { read: TokenScope.READ, trade: TokenScope.TRADE } as const;

export const tokenRoutes: Route[] = [
  defineRoute({
    method: 'POST',
    path: '/auth/tokens',
    access: 'session',
    handlesCredentials: true,
    summary: 'Create a named token for a program; the token is shown only in this answer',
    quota: 'signIns',
    body: TokenBody,
    responses: { 201: CreatedToken },
    errors: ['limit_reached'],
    example: examples.createToken,
    async handle(call) {
      const { userId, engine, gateway, body } = call;
      const { expiresAtMs = MAX_TIME_MS, allowedAddresses = [] } = body;
      if (expiresAtMs <= Math.max(engine.nowMs, gateway.clock.nowMs())) {
        call.refuse(invalidRequest({ expiresAtMs: 'must be in the future' }));
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
      if (result.values[ResultHead.code] !== Code.ok) {
        call.answerRejected(result);
        return;
      }
      const { tokenId, sequence } = resultFields('createToken', result);
      const view = engine.token(tokenId)!;
      const token = await gateway.sessions.issueNamed(view, engine.credentialVersion(userId));
      call.answerAt(sequence, 201, createdText({ ...fieldsOf(view), token, sequence }));
    },
  }),

  defineRoute({
    method: 'GET',
    path: '/auth/tokens',
    access: 'session',
    isLeaders: true,
    summary: 'Your named tokens, oldest first, with those that have expired in the last week',
    responses: { 200: Tokens },
    example: examples.tokens,
    handle(call) {
      const { engine, gateway } = call;
      const tokens = engine.tokens(call.userId).map((token) => ({
        ...fieldsOf(token),
        lastUsedAtMs: gateway.sessions.lastUsedAtMs(token.tokenId),
      }));
      call.answer(200, tokensText({ tokens, sequence: engine.sequence }));
    },
  }),

  defineRoute({
    method: 'DELETE',
    path: '/auth/tokens/:tokenId',
    access: 'session',
    handlesCredentials: true,
    summary: 'Revoke a named token: it is refused at once, and its streams are closed',
    body: EmptyBody,
    responses: { 204: null },
    errors: ['token_not_found'],
    example: examples.revokeToken,
    handle(call) {
      const tokenId = idNumber('k', call.parameter('tokenId'));
      if (tokenId === 0) call.answerError(errorAnswer('token_not_found'));
      else call.execute({ kind: 'revokeToken', userId: call.userId, tokenId }, 204, () => '');
    },
  }),
];

function fieldsOf(token: AccessTokenView) {
  return {
    tokenId: `k${token.tokenId}`,
    name: token.name,
    scope: tokenScopeName(token.scope),
    createdAtMs: token.createdAtMs,
    expiresAtMs: token.expiresAtMs === MAX_TIME_MS ? null : token.expiresAtMs,
    allowedAddresses: token.allowedAddresses === '' ? null : token.allowedAddresses.split(','),
  };
}
