/** The close codes of the stream, for client authors. */
import { CLOSE } from '../../stream/limits.js';
import type { CloseCode } from './asyncapi.js';

const MEANINGS: Record<keyof typeof CLOSE, string> = {
  goingAway: 'The exchange is stopping, and has sent everything durable. Connect again and resume.',
  tokenRevoked: 'The token was revoked, or the password was changed. Sign in again.',
  tokenExpired: 'The token has expired. Sign in again, or use another token.',
  slowReader: 'Too much was waiting for you. Read faster or subscribe to less, and resume.',
  notAnswering: 'Pings were not answered. Connect again and resume.',
  rateLimited: 'The connection sent too many messages. Send less.',
};

const WITHOUT_CODE: CloseCode = {
  code: 1006,
  reason: '',
  description:
    'No code was sent: a frame was not UTF-8 or too large, too much was waiting for all clients, or the exchange was killed. Connect again and resume.',
};

export const CLOSE_CODES: CloseCode[] = [
  ...(Object.keys(MEANINGS) as (keyof typeof CLOSE)[]).map((name) => ({
    ...CLOSE[name],
    description: MEANINGS[name],
  })),
  WITHOUT_CODE,
];
