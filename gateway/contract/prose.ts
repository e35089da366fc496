/** The API's general description, and the tags of its operations. */
import { BODY_BYTES_MAX } from '../http/request.js';
import type { Route } from '../http/route.js';

export const TITLE = 'Quarter-hour exchange';

export const DESCRIPTION = `An exchange for 15-minute UP/DOWN markets on the price of an asset. A share of the winning outcome pays 1 dollar; a share of the other outcome pays nothing.

- **Numbers** are exact decimals: dollars with at most 6 decimal places, prices and shares with at most 3. A number with more places is refused, never rounded. Their \`format\` is \`double\`, which is exact below 2^33 dollars when rounded to 6 places; a decimal type is better. Times, sequences and counts are \`int64\`. Times are integer milliseconds since the epoch, in fields that end in \`AtMs\` or \`Ms\`.
- **Bodies** are JSON with \`Content-Type: application/json\`, at most ${BODY_BYTES_MAX / 1024} KiB. An empty body counts as \`{}\`, whatever its type; a body with a \`Content-Encoding\` is refused. An unknown or duplicate field or query parameter is refused by name.
- **\`userId\`** is optional in every body and query of a signed-in user, and must be that user's id.
- **Lists** are wrapped in an object and paged with \`limit\`, \`cursor\` and \`nextCursor\`. An absent value is \`null\`, an empty list is \`[]\`.
- **\`sequence\`** is the journal sequence of the state that the answer shows. Every answer is durable before it is sent.
- **\`Idempotency-Key\`**: a request with the same user, key and body gets the first answer again, byte for byte, with the header \`Idempotency-Replayed: true\`, for an hour. If there is no room for a new key, the request gets 429 \`idempotency_full\` and is not executed.
- **\`Client-Sequence\`** replaces the key with a number that grows with each request of a token. A request whose number is not greater than the last executed one always gets 409 \`client_sequence_stale\`.
- **Errors** have one format. A failed request never returns 200. An unknown path returns 404 \`route_not_found\`, an unsupported method 405 \`method_not_allowed\` with the header \`Allow\`.
- **HEAD** is answered like GET, without the body. An answer without a body closes its connection.
- **The stream**, a WebSocket at \`/api/stream\`, sends changes of markets, order books, trades, prices and your account, and takes orders. It is described at \`/api/docs/stream\`, as AsyncAPI at \`/api/asyncapi.json\`.`;

interface Tag {
  name: string;
  description: string;
}

const TAGS: Record<string, Tag> = {
  markets: { name: 'Markets', description: 'Lists, order books, quotes, public trades' },
  trading: {
    name: 'Trading',
    description: 'Buying, selling, complete sets, claiming, resting orders',
  },
  users: { name: 'Users', description: 'Profiles, balances, positions, orders, referrals' },
  vaults: { name: 'Vaults', description: 'Staking dollars for a share of the fees' },
  leaderboard: { name: 'Leaderboard', description: 'Users ranked by profit, volume or points' },
  auth: { name: 'Accounts', description: 'Registration, sessions, passwords, named tokens' },
  partner: {
    name: 'Partners',
    description: 'Deposits for any user; withdrawals for users registered with the partner’s key',
  },
};
const OPERATIONS: Tag = {
  name: 'Operations',
  description: 'For operators, load balancers and client authors',
};

export const ALL_TAGS: Tag[] = [...Object.values(TAGS), OPERATIONS];

export function tagOf(route: Pick<Route, 'path' | 'access'>): string {
  const [, first = ''] = route.path.split('/');
  const isTrading = first === 'batch' || (first === 'markets' && route.access === 'session');
  return (TAGS[isTrading ? 'trading' : first] ?? OPERATIONS).name;
}
