/** The frame of every view: assets, navigation, the connection, and who is signed in. */
import { effect } from '@preact/signals';
import { Entrance } from './account/entrance.js';
import { Keys } from './keys.js';
import { MarketView } from './market/market-view.js';
import { balance } from './model/account.js';
import { best } from './model/book.js';
import { dialog, openDialog } from './model/dialog.js';
import { isLost } from './model/exchange.js';
import { asset, assets, market, remember } from './model/markets.js';
import { notice } from './model/notice.js';
import { route, type View } from './model/route.js';
import { isKnown, signOut, user } from './model/session.js';
import { Action } from './parts/action.js';
import { dollars } from './parts/format.js';
import { Later } from './parts/later.js';
import { Results } from './results/results.js';

const LINKS: readonly { view: View; to: string; label: string }[] = [
  { view: 'past', to: '#/past', label: 'Past markets' },
  { view: 'leaderboard', to: '#/leaderboard', label: 'Leaderboard' },
  { view: 'account', to: '#/account', label: 'Account' },
];

/** Views that are loaded when they are first shown. */
const LATER: Record<
  Exclude<View, 'market'>,
  () => Promise<{ default: () => preact.JSX.Element }>
> = {
  past: () => import('./past/past-view.js'),
  replay: () => import('./past/replay-view.js'),
  leaderboard: () => import('./people/leaderboard-view.js'),
  user: () => import('./people/profile-view.js'),
  account: () => import('./account/account-view.js'),
  status: () => import('./status/status-view.js'),
};

const amendDialog = () => import('./account/amend.js');

export function Shell() {
  const { view } = route.value;
  return (
    <>
      <button type="button" class="skip" onClick={toContent}>
        Skip to the content
      </button>
      <header class="top">
        <a class="brand" href={`#/${asset.value}`}>
          Quarter-Hour
        </a>
        <Assets />
        <nav class="views" aria-label="Views">
          {LINKS.map(({ view: each, to, label }) => (
            <a key={each} href={to} aria-current={each === view ? 'page' : undefined}>
              {label}
            </a>
          ))}
        </nav>
        <Visitor />
      </header>
      <ConnectionBar />
      <main id="content" tabIndex={-1} class={isLost.value ? 'stale' : ''}>
        {view === 'market' ? <MarketView /> : <Later key={view} load={LATER[view]} />}
      </main>
      <footer class="bottom">
        <a href="/api/docs">API</a> <a href="#/status">Status</a>{' '}
        <button type="button" class="link" onClick={() => openDialog('keys')}>
          Keys
        </button>
      </footer>
      {dialog.value === 'register' && <Entrance key="register" isNew={true} />}
      {dialog.value === 'signIn' && <Entrance key="signIn" isNew={false} />}
      {dialog.value === 'keys' && <Keys />}
      {dialog.value === 'amend' && <Later load={amendDialog} />}
      <Notice />
    </>
  );
}

function toContent(): void {
  document.getElementById('content')?.focus();
}

function Assets() {
  const shown = route.value.view === 'market' ? asset.value : '';
  return (
    <nav class="assets" aria-label="Assets">
      {assets.value.map((each) => (
        <a
          key={each}
          href={`#/${each}`}
          aria-current={each === shown ? 'page' : undefined}
          onClick={() => remember(each)}
        >
          {each}
        </a>
      ))}
    </nav>
  );
}

function Visitor() {
  const signedIn = user.value;
  if (!isKnown.value) return <div class="visitor" />;
  if (signedIn === null)
    return (
      <div class="visitor">
        <button type="button" class="plain" onClick={() => openDialog('signIn')}>
          Sign in
        </button>
        <button type="button" class="plain strong" onClick={() => openDialog('register')}>
          Create an account
        </button>
      </div>
    );
  const money = balance.value;
  return (
    <div class="visitor">
      <a class="money" href="#/account">
        <span class="soft">{signedIn.username}</span>{' '}
        <strong>{money === null ? '\u2013' : dollars(money.availableMicros)}</strong>
      </a>
      <Action run={signOut}>Sign out</Action>
    </div>
  );
}

/** Takes no room while all is well. */
function ConnectionBar() {
  return (
    <div class="connection" role="status">
      {isLost.value && (
        <p>
          The connection to the exchange is lost. What you see is not up to date, and nothing can be
          sent; it will catch up by itself.
        </p>
      )}
    </div>
  );
}

/** Over the page, so nothing moves. */
function Notice() {
  return (
    <div class="notice" role="status">
      <Results />
      {notice.value !== '' && (
        <p>
          {notice.value}{' '}
          <button
            type="button"
            class="plain"
            onClick={() => {
              notice.value = '';
            }}
          >
            Close
          </button>
        </p>
      )}
    </div>
  );
}

/** The price in the title of the tab, without drawing anything again. */
effect(() => {
  const shown = market.value;
  const bid = best.UP.bid.value;
  const ask = best.UP.ask.value;
  const isMarket = route.value.view === 'market' && shown !== null;
  const price = bid === null || ask === null ? '' : `UP ${((bid + ask) / 2_000).toFixed(2)} `;
  document.title = `${isMarket ? `${price}${shown.asset}, ` : ''}Quarter-Hour Exchange`;
});
