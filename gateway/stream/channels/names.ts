/** The names of channels and what they mean. */
import type { Engine } from '../../../engine/engine.js';
import { marketIdNumber } from '../../../engine/interface/notation.js';
import { type ErrorAnswer, errorAnswer, invalidRequest } from '../../http/errors.js';
import { assetsText } from '../../resources/find.js';

export type ChannelId =
  | { kind: 'markets' }
  | { kind: 'book' | 'trades'; marketId: number }
  | { kind: 'prices'; asset: number }
  | { kind: 'user'; userId: number };

export type ChannelKind = ChannelId['kind'];

const FORMS = 'markets, book:<marketId>, trades:<marketId>, prices:<asset> or user';

/** The channel that a name means to the user (0: nobody is signed in), or an error. */
export function channelNamed(
  engine: Engine,
  userId: number,
  name: string,
): ChannelId | ErrorAnswer {
  if (name === 'markets') return { kind: 'markets' };
  if (name === 'user') return userId === 0 ? notSignedIn(name) : { kind: 'user', userId };
  const [kind, subject] = splitName(name);
  if (kind === 'book' || kind === 'trades') {
    const marketId = marketIdNumber(engine, subject);
    const isKnown = engine.hasMarket(marketId);
    return isKnown ? { kind, marketId } : errorAnswer('market_not_found', { channel: name });
  }
  if (kind === 'prices') {
    const asset = engine.findAsset(subject);
    return asset >= 0
      ? { kind, asset }
      : invalidRequest({ [name]: `is not the channel of a listed asset; ${assetsText(engine)}` });
  }
  return invalidRequest({ [name]: `is not a channel; the channels are ${FORMS}` });
}

function splitName(name: string): [string, string] {
  const colon = name.indexOf(':');
  return colon < 0 ? ['', ''] : [name.slice(0, colon), name.slice(colon + 1)];
}

function notSignedIn(channel: string): ErrorAnswer {
  return errorAnswer(
    'missing_token',
    { channel },
    'The channel "user" requires a session. Connect with the x-user-token header or the service-session cookie, or first send {"op":"auth","token":"..."}.',
  );
}
