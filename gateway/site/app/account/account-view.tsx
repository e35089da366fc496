/** The signed-in user's account, in parts. */
import type { JSX } from 'preact';
import { openDialog } from '../model/dialog.js';
import { route } from '../model/route.js';
import { isKnown, user } from '../model/session.js';
import { NotificationsPanel } from '../results/notifications.js';
import { Portfolio } from '../results/portfolio.js';
import { Results } from '../results/results.js';
import { t } from '../words/words.js';
import { CancelAfterPanel } from './cancel-after.js';
import { OrdersList } from './orders.js';
import { PasswordForm } from './password.js';
import { PointsList } from './points.js';
import { PayoutPanel, PrivacyPanel } from './privacy.js';
import { ReferralPanel } from './referral.js';
import { StatementPanel } from './statement.js';
import { TokensPanel } from './tokens.js';
import { TradesList } from './trades.js';
import { VaultPanel } from './vault.js';

const PARTS: readonly { name: string; label: string; Part: () => JSX.Element }[] = [
  { name: '', label: t('Portfolio'), Part: Portfolio },
  { name: 'orders', label: t('Orders'), Part: OrdersList },
  { name: 'trades', label: t('Trades'), Part: TradesList },
  { name: 'statement', label: t('Statement'), Part: StatementPanel },
  { name: 'vault', label: t('Vault'), Part: VaultPanel },
  { name: 'points', label: t('Points'), Part: PointsList },
  { name: 'referral', label: t('Referral'), Part: ReferralPanel },
  { name: 'settings', label: t('Settings and API keys'), Part: Settings },
];

export function AccountView() {
  const signedIn = user.value;
  if (!isKnown.value) return <p class="starting">{t('Loading')}</p>;
  if (signedIn === null)
    return (
      <div class="starting">
        <h1>{t('Portfolio')}</h1>
        <p>{t('Sign in to see your portfolio.')}</p>
        <p>
          <button type="button" class="plain strong" onClick={() => openDialog('signIn')}>
            {t('Sign in')}
          </button>{' '}
          <button type="button" class="plain" onClick={() => openDialog('register')}>
            {t('Sign up')}
          </button>
        </p>
      </div>
    );
  const { subject } = route.value;
  const { Part } = PARTS.find(({ name }) => name === subject) ?? PARTS[0]!;
  return (
    <>
      <Results />
      <div class="page-head">
        <h1>{signedIn.username}</h1>
        <nav class="views" aria-label={t('Parts of the account')}>
          {PARTS.map(({ name, label }) => (
            <a
              key={name}
              href={name === '' ? '#/account' : `#/account/${name}`}
              aria-current={name === subject ? 'page' : undefined}
            >
              {label}
            </a>
          ))}
        </nav>
      </div>
      <Part key={subject} />
    </>
  );
}

function Settings() {
  return (
    <div class="columns">
      <PasswordForm />
      <PayoutPanel />
      <PrivacyPanel />
      <NotificationsPanel />
      <CancelAfterPanel />
      <TokensPanel />
    </div>
  );
}
