/** Everything about one's own account, in parts. */
import type { JSX } from 'preact';
import { balance, positions, trueAt, worthMicros } from '../model/account.js';
import { openDialog } from '../model/dialog.js';
import { route } from '../model/route.js';
import { isKnown, user } from '../model/session.js';
import { Figure } from '../parts/figure.js';
import { dollars, whole } from '../parts/format.js';
import { Panel } from '../parts/panel.js';
import { CancelAfterPanel } from './cancel-after.js';
import { Holdings } from './holdings.js';
import { OrdersList } from './orders.js';
import { PasswordForm } from './password.js';
import { PointsList } from './points.js';
import { ReferralPanel } from './referral.js';
import { StatementPanel } from './statement.js';
import { TokensPanel } from './tokens.js';
import { TradesList } from './trades.js';
import { VaultPanel } from './vault.js';

const PARTS: readonly { name: string; label: string; Part: () => JSX.Element }[] = [
  { name: '', label: 'Overview', Part: Overview },
  { name: 'orders', label: 'Orders', Part: OrdersList },
  { name: 'trades', label: 'Trades', Part: TradesList },
  { name: 'statement', label: 'Statement', Part: StatementPanel },
  { name: 'vault', label: 'Vault', Part: VaultPanel },
  { name: 'points', label: 'Points', Part: PointsList },
  { name: 'referral', label: 'Referral', Part: ReferralPanel },
  { name: 'security', label: 'Security', Part: Security },
];

export default function AccountView() {
  const signedIn = user.value;
  if (!isKnown.value) return <p class="starting">Loading</p>;
  if (signedIn === null)
    return (
      <div class="starting">
        <h1>Account</h1>
        <p>You are not signed in.</p>
        <p>
          <button type="button" class="plain strong" onClick={() => openDialog('signIn')}>
            Sign in
          </button>{' '}
          <button type="button" class="plain" onClick={() => openDialog('register')}>
            Create an account
          </button>
        </p>
      </div>
    );
  const { subject } = route.value;
  const { Part } = PARTS.find(({ name }) => name === subject) ?? PARTS[0]!;
  return (
    <>
      <div class="page-head">
        <h1>{signedIn.username}</h1>
        <nav class="views" aria-label="Parts of the account">
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

function Security() {
  return (
    <div class="columns">
      <PasswordForm />
      <CancelAfterPanel />
      <TokensPanel />
    </div>
  );
}

function Overview() {
  const money = balance.value;
  const shown = (micros: number | undefined) => (micros === undefined ? '\u2013' : dollars(micros));
  const worth = positions.value.reduce((sum, each) => sum + worthMicros(each), 0);
  const total = money === null ? undefined : money.availableMicros + money.heldMicros + worth;
  return (
    <div class="stack">
      <Panel title="Balance">
        <dl class="figures panel-body">
          <Figure label="Available" value={shown(money?.availableMicros)} name="available" />
          <Figure label="Held by resting orders" value={shown(money?.heldMicros)} name="held" />
          <Figure label="Positions, worth now" value={shown(money === null ? undefined : worth)} />
          <Figure label="Total" value={shown(total)} name="total" />
          <Figure label="True at sequence" value={whole(trueAt.value)} name="sequence" />
        </dl>
      </Panel>
      <Holdings />
    </div>
  );
}
