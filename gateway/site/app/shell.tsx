/** The frame of every view: assets, navigation, connection, and the signed-in user. */
import { computed, effect } from '@preact/signals';
import { chances } from './chart/odds.js';
import { MarketView } from './market/market-view.js';
import { balance } from './model/account.js';
import { dialog, isMenuOpen, openDialog } from './model/dialog.js';
import { isLost } from './model/exchange.js';
import { areKnown, asset, assets, market, remember } from './model/markets.js';
import { notice } from './model/notice.js';
import { route, type View } from './model/route.js';
import { isKnown, signOut, user } from './model/session.js';
import { isOpen } from './model/ticket.js';
import { Action } from './parts/action.js';
import { slotName } from './parts/format.js';
import { Later } from './parts/later.js';
import { Money } from './parts/panel.js';
import { LANGUAGES, language, speak, t } from './words/words.js';

const LINKS: readonly { view: View; to: string; label: string }[] = [
  { view: 'past', to: '#/past', label: t('Past markets') },
  { view: 'leaderboard', to: '#/leaderboard', label: t('Leaderboard') },
  { view: 'account', to: '#/account', label: t('Portfolio') },
];

/** Once the assets are known, an address with an unlisted asset shows no market. */
const view = computed<View>(() => {
  const { view: named, subject } = route.value;
  const isAsset = subject === '' || !areKnown.value || assets.value.includes(subject.toUpperCase());
  return named === 'market' && !isAsset ? 'unknown' : named;
});

const closeMenu = () => {
  isMenuOpen.value = false;
};
effect(() => {
  void route.value;
  void dialog.value;
  void isOpen.value;
  closeMenu();
});

const loadViews = () => import('./views.js');

export function Shell() {
  const shown = view.value;
  return (
    <>
      <button type="button" class="skip" onClick={toContent}>
        {t('Skip to the content')}
      </button>
      <header class="top">
        <a class="brand" href={`#/${asset.value}`} aria-label="Quarter-Hour">
          <span class="mark" aria-hidden="true" />
          <span class="on-desk">Quarter-Hour</span>
        </a>
        <Assets />
        <nav class={`views ${isMenuOpen.value ? 'open' : ''}`} aria-label={t('Views')} id="views">
          {LINKS.map(({ view: each, to, label }) => (
            <a
              key={each}
              href={to}
              aria-current={each === shown ? 'page' : undefined}
              // The address of the shown view does not change.
              onClick={closeMenu}
            >
              {label}
            </a>
          ))}
          <span class="on-phone">
            <Session />
          </span>
        </nav>
        <Visitor />
        <button
          type="button"
          class="plain menu on-phone"
          aria-label={t('Menu')}
          aria-expanded={isMenuOpen.value}
          aria-controls="views"
          onClick={() => {
            isMenuOpen.value = !isMenuOpen.peek();
          }}
        />
      </header>
      <ConnectionBar />
      <main
        id="content"
        tabIndex={-1}
        class={`${isLost.value ? 'stale' : ''} ${shown === 'market' ? '' : 'page'}`}
      >
        <Shown of={shown} />
      </main>
      <footer class="bottom">
        <a href="#/rules">{t('Rules')}</a> <a href="/api/docs">{t('API')}</a>{' '}
        <a href="#/status">{t('Status')}</a>{' '}
        <button type="button" class="link on-desk" onClick={() => openDialog('keys')}>
          {t('Shortcuts')}
        </button>
        {Object.entries(LANGUAGES).map(
          ([each, { name }]) =>
            each !== language && (
              <button key={each} type="button" class="link" lang={each} onClick={() => speak(each)}>
                {name}
              </button>
            ),
        )}
      </footer>
      {dialog.value !== null && <Later key={dialog.value} load={loadViews} name={dialog.value} />}
      <Notice />
    </>
  );
}

function Shown({ of }: { of: View }) {
  if (of === 'market') return <MarketView />;
  if (of !== 'unknown') return <Later key={of} load={loadViews} name={of} />;
  return (
    <div class="starting">
      <h1>{t('Page not found')}</h1>
      <p>
        {t('Nothing is at this address.')} <a href="#/">{t('Go to the market')}</a>
      </p>
    </div>
  );
}

function toContent(): void {
  document.getElementById('content')?.focus();
}

function Assets() {
  const shown = view.value === 'market' ? asset.value : '';
  return (
    <nav class="assets" aria-label={t('Assets')}>
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
  if (!isKnown.value) return <div class="visitor" />;
  return (
    <div class="visitor">
      {user.value === null ? (
        <button type="button" class="plain strong" onClick={() => openDialog('register')}>
          {t('Sign up')}
        </button>
      ) : (
        <a class="money" href="#/account">
          <span class="soft">{user.value.username}</span>{' '}
          <strong>
            {balance.value === null ? '\u2013' : <Money micros={balance.value.availableMicros} />}
          </strong>
        </a>
      )}
      <span class="on-desk">
        <Session />
      </span>
    </div>
  );
}

function Session() {
  if (!isKnown.value) return null;
  return user.value === null ? (
    <button type="button" class="plain" onClick={() => openDialog('signIn')}>
      {t('Sign in')}
    </button>
  ) : (
    <Action run={signOut}>{t('Sign out')}</Action>
  );
}

/** Takes no room while connected. */
function ConnectionBar() {
  return (
    <div class="connection" role="status">
      {isLost.value && (
        <p>
          {t(
            'The connection to the exchange is lost. Prices and balances may be out of date, and nothing can be sent until it is back.',
          )}
        </p>
      )}
    </div>
  );
}

/** Overlays the page, so that nothing moves. */
function Notice() {
  return (
    <div class="notice" role="status">
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
            {t('Close')}
          </button>
        </p>
      )}
    </div>
  );
}

const TITLES: Record<Exclude<View, 'market' | 'replay'>, string> = {
  past: t('Past markets'),
  leaderboard: t('Leaderboard'),
  user: t('Trader'),
  account: t('Portfolio'),
  status: t('Status'),
  rules: t('Rules'),
  unknown: t('Page not found'),
};

/** Sets the tab's title: the page's name and the market's odds. Redraws nothing. */
effect(() => {
  const of = view.value;
  const { subject } = route.value;
  const up = chances.value === null ? '' : `UP ${chances.value.UP}%, `;
  const name =
    of === 'market'
      ? `${up}${market.value?.asset ?? asset.value}`
      : of === 'replay'
        ? slotName(subject)
        : TITLES[of];
  document.title = `${name === '' ? '' : `${name} \u00b7 `}Quarter-Hour Exchange`;
});
