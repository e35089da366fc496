/** The shown view, from the part of the address after #. */
import { computed, signal } from '@preact/signals';

export type View =
  | 'market'
  | 'past'
  | 'replay'
  | 'leaderboard'
  | 'user'
  | 'account'
  | 'status'
  | 'rules'
  | 'unknown';

interface Route {
  view: View;
  /** An asset, a market, a user, or a part of the account; may be empty. */
  subject: string;
}

/** The address's first part, except in the market view, which begins with an asset. */
const PREFIXES: Record<string, View> = {
  past: 'past',
  market: 'replay',
  leaderboard: 'leaderboard',
  user: 'user',
  account: 'account',
  status: 'status',
  rules: 'rules',
};

const address = signal(location.hash);
addEventListener('hashchange', () => {
  address.value = location.hash;
});

export const route = computed<Route>(() => {
  const [first = '', second = '', ...rest] = address.value.replace(/^#\/?/, '').split('/');
  const isNamed = Object.hasOwn(PREFIXES, first);
  const isTooLong = rest.length > 0 || (!isNamed && second !== '');
  const view = isTooLong ? 'unknown' : isNamed ? PREFIXES[first]! : 'market';
  const subject = decoded(view === 'market' ? first : second);
  return { view, subject };
});

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return '';
  }
}

export function go(to: string): void {
  location.hash = to;
}
