/** Named tokens for programs. */

import { z } from 'zod';
import { TokenScope } from '../../../engine/interface/domain.js';
import { MAX_TIME_MS } from '../../../engine/interface/limits.js';
import { type Assets, idNumber, tokenScopeName } from '../../../engine/interface/notation.js';
import type { AccessTokenView } from '../../../engine/interface/views.js';
import type { AsOf } from '../../../persistence/history/as-of.js';
import { ADDRESS_RULE, ALLOWED_ADDRESSES_MAX } from '../../access/allowed-addresses.js';
import { errorAnswer, invalidRequest } from '../../commands/errors.js';
import { resultFields } from '../../commands/receipt.js';
import type { Call } from '../../http/call.js';
import { defineRoute, type Route } from '../../http/route.js';
import { executeFor, submitFor } from '../../http/submission.js';
import { bodyObject, responseObject } from '../../json/components.js';
import * as request from '../../json/fields.js';
import { state, timeMs, tokenId } from '../../json/response-fields.js';
import { type From, Writer } from '../../json/writer.js';

/** The longest IPv6 address, with an IPv4 part and a prefix length. */
const ADDRESS_LENGTH_MAX = 49;

const scope = z
  .enum(['read', 'trade'])
  .describe(
    '`read`: changes nothing. `trade`: everything except passwords, tokens and new sub-accounts',
  );
/**
 * The first and last non-ASCII character of a name. The pattern contains the characters themselves,
 * because clients may compile the patterns of the OpenAPI document with RE2, which does not support
 * `\u`.
 */
const [FIRST, LAST] = ['\u00a0', '\ud7ff'];
const TOKEN_NAME = new RegExp(`^[ -~${FIRST}-${LAST}]{1,64}$`);
const tokenName = z
  .string()
  .regex(TOKEN_NAME, 'must be 1 to 64 printable characters (no emoji)')
  .describe('What the token is for');
const allowedAddress = z
  .string()
  .max(ADDRESS_LENGTH_MAX, 'is too long')
  .regex(ADDRESS_RULE, 'must be an IP address or a CIDR range, such as 192.0.2.0/24');

export const TokenBody = bodyObject('TokenBody', 'A token for a program', {
  ...request.own,
  name: tokenName,
  scope,
  expiresAtMs: z
    .int('must be a whole number')
    .min(1, 'must be in the future')
    .max(MAX_TIME_MS - 1, `must be less than ${MAX_TIME_MS}`)
    .optional()
    .describe('When the token expires; omit it for a token that never expires'),
  allowedAddresses: z
    .array(allowedAddress)
    .min(1, 'must name an address')
    .max(ALLOWED_ADDRESSES_MAX, `must name at most ${ALLOWED_ADDRESSES_MAX} addresses`)
    .optional()
    .describe(
      'IP addresses and CIDR ranges from which the token may be used; omit it for any address',
    ),
});

const tokenFields = {
  tokenId,
  name: z.string().describe('The name'),
  scope,
};
const tokenTimes = {
  createdAtMs: timeMs,
  expiresAtMs: timeMs.nullable().describe('When the token expires; null if never'),
};
const tokenAddresses = {
  allowedAddresses: z
    .array(z.string())
    .nullable()
    .describe('Addresses from which the token may be used; null for any'),
};
export const CreatedToken = responseObject('CreatedToken', 'A new named token', {
  ...tokenFields,
  token: z.string().describe('The token; shown only in this answer'),
  ...tokenTimes,
  ...tokenAddresses,
  ...state,
});
export const Tokens = responseObject('Tokens', 'The named tokens of a user', {
  tokens: z
    .array(
      responseObject('Token', 'A named token', {
        ...tokenFields,
        ...tokenTimes,
        lastUsedAtMs: timeMs
          .nullable()
          .describe('When the token was last used; null if not since the exchange started'),
        ...tokenAddresses,
      }),
    )
    .describe('The tokens'),
  ...state,
});

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
    summary: 'Your named tokens, oldest first, including those that expired in the last week',
    responses: { 200: Tokens },
    handle: (call) => listTokens(call, call.userId),
  }),

  defineRoute('DELETE', '/auth/tokens/:tokenId', {
    access: 'session',
    handlesCredentials: true,
    summary:
      'Revoke a named token of yours or of a sub-account: it is refused immediately, and its streams are closed',
    body: request.EmptyBody,
    responses: { 204: null },
    errors: ['token_not_found'],
    handle(call) {
      const tokenId = idNumber('k', call.parameter('tokenId'));
      const owner = call.engine.token(tokenId)?.userId ?? 0;
      const userId = call.engine.payer(owner) === call.userId ? owner : call.userId;
      if (tokenId === 0) call.refuseWhenDurable(errorAnswer('token_not_found'));
      else executeFor(call, { kind: 'revokeToken', userId, tokenId }, 204, () => '');
    },
  }),
];

/** `userId` is the session's user or one of its sub-accounts. */
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
  const result = submitFor(call, {
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
  const text = CREATED_TOKEN.text({ ...view, token, sequence, atMs }, engine);
  call.answerWhenDurable(201, text, sequence);
}

export function listTokens(call: Call, userId: number): void {
  const { engine, gateway } = call;
  const tokens = engine.tokens(userId).map((token) => ({
    ...token,
    lastUsedAtMs: gateway.sessions.lastUsedAtMs(token.tokenId),
  }));
  call.answer(TOKENS, { tokens, ...call.asOf });
}

const TOKEN: From<AccessTokenView, Assets> = {
  scope: ({ scope }) => tokenScopeName(scope),
  expiresAtMs: ({ expiresAtMs }) => (expiresAtMs === MAX_TIME_MS ? null : expiresAtMs),
  allowedAddresses: ({ allowedAddresses }) =>
    allowedAddresses === '' ? null : allowedAddresses.split(','),
};
const CREATED_TOKEN = new Writer<AccessTokenView & AsOf & { token: string }>(CreatedToken, TOKEN);
const LISTED_TOKEN = new Writer<AccessTokenView>(Tokens.shape.tokens.element, TOKEN);
const TOKENS = new Writer<{ tokens: AccessTokenView[] }>(Tokens, {
  tokens: ({ tokens }, names) => LISTED_TOKEN.all(tokens, names),
});
