/** The bodies of requests and responses of registration, signing in, passwords and tokens. */
import { z } from 'zod';
import { MAX_TIME_MS } from '../../../engine/interface/limits.js';
import { ALLOWED_ADDRESSES_MAX, isAddressRule } from '../../access/allowed-addresses.js';
import { bodySchema, responseSchema } from '../../json/components.js';
import * as request from '../../json/fields.js';
import { state, timeMs, tokenId, userId, username } from '../../json/response-fields.js';

/** The longest IPv6 address, with an IPv4 part, and a length. */
const ADDRESS_LENGTH_MAX = 49;

export const RegisterBody = bodySchema(
  'RegisterBody',
  'A new account',
  z.strictObject({
    username: request.username,
    password: request.password.describe('The password'),
    referralCode: request.referralCode
      .optional()
      .describe('A code that identifies the user who referred another'),
  }),
);
export const LoginBody = bodySchema(
  'LoginBody',
  'The credentials of a user',
  z.strictObject({ username, password: request.triedPassword.describe('The password') }),
);
export const PasswordBody = bodySchema(
  'PasswordBody',
  'A change of password',
  z.strictObject({
    ...request.own,
    currentPassword: request.triedPassword.describe('The password until now'),
    newPassword: request.password.describe('The password from now on; all tokens end'),
  }),
);

const token = z.string().describe('The session token, for the header `x-user-token`');

export const SignedIn = responseSchema(
  'SignedIn',
  'A signed-in user and the token',
  z.strictObject({
    userId,
    username,
    token,
    referralCode: z.string().describe('A code that identifies the user who referred another'),
    ...state,
  }),
);
export const NewToken = responseSchema(
  'NewToken',
  'A token that replaces older ones',
  z.strictObject({ token, ...state }),
);
export const SessionOwner = responseSchema(
  'SessionOwner',
  'Who is signed in',
  z.strictObject({ userId, username, ...state }),
);

const scope = z.enum(['read', 'trade']).meta({
  description:
    '`read`: changes nothing. `trade`: everything but credentials: no password, no tokens',
});
/** Characters that every terminal prints, in one UTF-16 code unit each. */
const tokenName = z
  .string()
  .regex(/^[ -~\u00a0-\ud7ff]{1,64}$/, 'must be 1 to 64 printable characters (no emoji)')
  .meta({ description: 'What the token is for' });
const allowedAddress = z
  .string()
  .max(ADDRESS_LENGTH_MAX, 'is too long')
  .refine(isAddressRule, 'must be an IP address or a CIDR range, such as 192.0.2.0/24');

export const TokenBody = bodySchema(
  'TokenBody',
  'A token for a program',
  z.strictObject({
    ...request.own,
    name: tokenName,
    scope,
    expiresAtMs: z
      .int('must be a whole number')
      .min(1, 'must be in the future')
      .max(MAX_TIME_MS - 1, `must be less than ${MAX_TIME_MS}`)
      .optional()
      .meta({ description: 'When the token expires; without it, never' }),
    allowedAddresses: z
      .array(allowedAddress)
      .min(1, 'must name an address')
      .max(ALLOWED_ADDRESSES_MAX, `must name at most ${ALLOWED_ADDRESSES_MAX} addresses`)
      .optional()
      .meta({
        description:
          'IP addresses and CIDR ranges from which the token may be used; without it, any',
      }),
  }),
);

const tokenFields = {
  tokenId,
  name: z.string().describe('The name'),
  scope,
};
const tokenTimes = {
  createdAtMs: timeMs,
  expiresAtMs: timeMs.nullable().meta({ description: 'When the token expires; null: never' }),
};
const tokenAddresses = {
  allowedAddresses: z
    .array(z.string())
    .nullable()
    .meta({ description: 'From which addresses the token may be used; null: any' }),
};
export const CreatedToken = responseSchema(
  'CreatedToken',
  'A new named token',
  z.strictObject({
    ...tokenFields,
    token: z.string().meta({ description: 'The token; shown only in this answer' }),
    ...tokenTimes,
    ...tokenAddresses,
    ...state,
  }),
);
export const Tokens = responseSchema(
  'Tokens',
  'The named tokens of a user',
  z.strictObject({
    tokens: z
      .array(
        responseSchema(
          'Token',
          'A named token',
          z.strictObject({
            ...tokenFields,
            ...tokenTimes,
            lastUsedAtMs: timeMs.nullable().meta({
              description:
                'When the token was last used since the exchange started; null: not since',
            }),
            ...tokenAddresses,
          }),
        ),
      )
      .describe('The tokens'),
    ...state,
  }),
);
