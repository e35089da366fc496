/** Channel names and how to resolve them. */
import type { Engine } from '../../../engine/engine.js';
import { idNumber, marketIdNumber } from '../../../engine/interface/notation.js';
import { type ErrorAnswer, errorAnswer, invalidRequest } from '../../commands/errors.js';
import { assetsText } from '../../resources/find.js';
import { CHANNEL_KINDS, CHANNELS, type ChannelId } from '../hub.js';

const FORMS = {
  all: '',
  market: ':<marketId>',
  asset: ':<asset>',
  user: '',
  subAccount: ':<userId>',
};
/** Names as written in documents, such as `book:<marketId>`. */
export const CHANNEL_NAMES = CHANNEL_KINDS.map((kind) => kind + FORMS[CHANNELS[kind].of]);
const NO_CHANNEL = `is not a channel; the channels are ${CHANNEL_NAMES.slice(0, -1).join(', ')} or ${CHANNEL_NAMES.at(-1)}`;

/** `userId` is 0 if not signed in. */
export function channelNamed(
  engine: Engine,
  userId: number,
  name: string,
): ChannelId | ErrorAnswer {
  const [start, subject] = splitName(name);
  const kind = CHANNEL_KINDS.find((each) => each === start);
  if (kind === undefined) return invalidRequest({ [name]: NO_CHANNEL });
  const form = CHANNELS[kind].of;
  if ((FORMS[form] === '') !== (subject === null)) return invalidRequest({ [name]: NO_CHANNEL });
  if (form === 'all') return { kind, of: 0 };
  const isPrivate = form === 'user' || form === 'subAccount';
  if (isPrivate && userId === 0) return notSignedIn(name);
  if (form === 'user') return { kind, of: userId };
  if (form === 'subAccount') {
    const of = idNumber('u', subject!);
    return engine.parent(of) === userId
      ? { kind, of }
      : errorAnswer('user_not_found', { channel: name }, 'You have no sub-account with this id.');
  }
  if (form === 'market') {
    const of = marketIdNumber(engine, subject!);
    return engine.hasMarket(of) ? { kind, of } : errorAnswer('market_not_found', { channel: name });
  }
  const of = engine.findAsset(subject!);
  return of >= 0
    ? { kind, of }
    : invalidRequest({ [name]: `is not the channel of a listed asset; ${assetsText(engine)}` });
}

function splitName(name: string): [string, string | null] {
  const colon = name.indexOf(':');
  return colon < 0 ? [name, null] : [name.slice(0, colon), name.slice(colon + 1)];
}

function notSignedIn(channel: string): ErrorAnswer {
  return errorAnswer(
    'missing_token',
    { channel },
    'The channels "user" and "account" require a session. Connect with the x-user-token header or the service-session cookie, or first send {"op":"auth","token":"..."}.',
  );
}
