/** The bodies of requests and responses of registration, signing in and passwords. */
import { z } from 'zod';
import { bodySchema, responseSchema } from '../../json/components.js';
import * as request from '../../json/fields.js';
import { sequence, userId } from '../../json/response-fields.js';

export const RegisterBody = bodySchema(
  'RegisterBody',
  z.strictObject({
    username: request.username,
    password: request.password,
    referralCode: request.referralCode.optional(),
  }),
);
export const LoginBody = bodySchema(
  'LoginBody',
  z.strictObject({ username: z.string(), password: request.triedPassword }),
);
export const PasswordBody = bodySchema(
  'PasswordBody',
  z.strictObject({
    ...request.own,
    currentPassword: request.triedPassword,
    newPassword: request.password,
  }),
);

export const SignedIn = responseSchema(
  'SignedIn',
  z.strictObject({
    userId,
    username: z.string(),
    token: z.string(),
    referralCode: z.string(),
    sequence,
  }),
);
export const NewToken = responseSchema('NewToken', z.strictObject({ token: z.string(), sequence }));
export const SessionOwner = responseSchema(
  'SessionOwner',
  z.strictObject({ userId, username: z.string(), sequence }),
);
