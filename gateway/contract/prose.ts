/** What the description of the API says as a whole, and under which headings its operations stand. */

import { BODY_BYTES_MAX } from '../http/request.js';
import type { Route } from '../http/route.js';

export const TITLE = 'Quarter-hour exchange';

export const DESCRIPTION = `An exchange for 15-minute UP/DOWN markets on the price of an asset. A share of the winning outcome pays 1 dollar, a share of the other nothing.

- **Numbers** are exact decimals: dollars with at most 6 places, prices and shares with at most 3. More places are refused, never rounded. Times are integer milliseconds since the epoch; their fields end in \`AtMs\` or \`Ms\`.
- **Bodies** are JSON with \`Content-Type: application/json\`, at most ${BODY_BYTES_MAX / 1024} KiB. An empty one counts as \`{}\`. A field or a query parameter that is not known, or that stands there twice, is refused by name.
- **\`userId\`** may stand in any body or query of a user, and must be the own one.
- **Lists** are wrapped and paged: \`limit\`, \`cursor\`, \`nextCursor\`. What is absent is \`null\`, what is empty is \`[]\`.
- **\`sequence\`** is the place in the journal that the answer is true at. Nothing is answered before it is durable.
- **\`Idempotency-Key\`**: the same user, key and body gets the first answer again, byte for byte, with the header \`Idempotency-Replayed: true\`.
- **Errors** have one form, and the status says what happened: nothing that failed is a 200. Every other path is 404 \`route_not_found\`, every other method of a path 405 \`method_not_allowed\` with the header \`Allow\`.
- **HEAD** is answered like GET, without the body. An answer without a body is the last of its connection.
- **The stream**, a WebSocket at \`/api/stream\`, sends markets, order books, trades, prices and the own orders as they change.`;

interface Tag {
  name: string;
  description: string;
}

/** By the first part of the path. */
const TAGS: Record<string, Tag> = {
  markets: { name: 'Markets', description: 'Lists, order books, quotes, the public tape' },
  trading: { name: 'Trading', description: 'Buying, selling, claiming, and orders that rest' },
  users: { name: 'Users', description: 'Profiles, balances, positions, orders, referral' },
  vaults: { name: 'Vaults', description: 'Staking dollars for a part of the fees' },
  leaderboard: { name: 'Leaderboard', description: 'Users by profit, volume or points' },
  auth: { name: 'Accounts', description: 'Registration, sessions, passwords' },
  partner: {
    name: 'Partners',
    description: 'Money in for anybody, and out for users who were registered with the key',
  },
};
const OPERATIONS: Tag = {
  name: 'Operations',
  description: 'For operators, load balancers, and those who build clients',
};

export const ALL_TAGS: Tag[] = [...Object.values(TAGS), OPERATIONS];

export function tagOf(route: Pick<Route, 'path' | 'access'>): string {
  const [, first = ''] = route.path.split('/');
  const isTrading = first === 'batch' || (first === 'markets' && route.access === 'session');
  return (TAGS[isTrading ? 'trading' : first] ?? OPERATIONS).name;
}
