/**
 * Named tokens for programs: created here, shown once, listed and revoked.
 *
 * Invariant: the page does not store tokens. A token exists only in the answer that created it and,
 * until dismissed, on the screen.
 */
import { type Signal, useSignal } from '@preact/signals';
import {
  type CreatedToken,
  createToken,
  revokeToken,
  type Tokens,
  tokens,
} from '../../../client/index.js';
import { exchangeNowMs } from '../model/clock.js';
import { api } from '../model/exchange.js';
import { user } from '../model/session.js';
import { Action, Copy } from '../parts/action.js';
import { Form, Select, TextField } from '../parts/form.js';
import { dayAndTime } from '../parts/format.js';
import { Panel, Table } from '../parts/panel.js';
import { Read, type Reading, useReading } from '../parts/reading.js';
import { t } from '../words/words.js';

const DAY_MS = 86_400_000;
const SCOPES = { read: t('Read only'), trade: t('Read and trade') } as const;
type Scope = keyof typeof SCOPES;

export function TokensPanel() {
  const reading = useReading(() => tokens(api), user.value?.userId ?? '');
  const made = useSignal<CreatedToken | null>(null);
  return (
    <>
      <Panel title={t('New API key')}>
        {made.value === null ? (
          <NewToken reading={reading} made={made} />
        ) : (
          <Shown of={made.value} done={() => (made.value = null)} />
        )}
      </Panel>
      <Panel title={t('API keys')} class="wide">
        <Read of={reading}>{(list) => <List of={list} reading={reading} />}</Read>
      </Panel>
    </>
  );
}

function NewToken(props: { reading: Reading<Tokens>; made: Signal<CreatedToken | null> }) {
  const name = useSignal('');
  const addresses = useSignal('');
  const scope = useSignal<Scope>('read');
  const days = useSignal('90');
  const send = async () => {
    const allowed = addresses
      .peek()
      .split(/[\s,]+/)
      .filter((each) => each !== '');
    const lasts = Number(days.peek()) * DAY_MS;
    props.made.value = await createToken(api, {
      name: name.peek().trim(),
      scope: scope.peek(),
      ...(lasts > 0 ? { expiresAtMs: Math.floor(exchangeNowMs()) + lasts } : {}),
      ...(allowed.length > 0 ? { allowedAddresses: allowed } : {}),
    });
    void props.reading.again();
    return undefined;
  };
  return (
    <Form
      class="panel-body"
      button={t('Create API key')}
      send={send}
      names={{ name: 'The name', allowedAddresses: 'Each' }}
    >
      <TextField label={t('Name of the key')} name="name" value={name} />
      <Select
        label={t('Permissions')}
        name="scope"
        value={scope}
        options={Object.entries(SCOPES) as [Scope, string][]}
      />
      <Select
        label={t('Expires')}
        name="days"
        value={days}
        options={[
          ['1', t('In 1 day')],
          ['30', t('In 30 days')],
          ['90', t('In 90 days')],
          ['0', t('Never')],
        ]}
      />
      <TextField
        label={t('Allowed IP addresses')}
        name="allowedAddresses"
        value={addresses}
        hint={t('For example 192.0.2.7, 192.0.2.0/24. Empty: any address.')}
      />
    </Form>
  );
}

function Shown({ of, done }: { of: CreatedToken; done: () => void }) {
  return (
    <div class="entrance panel-body" role="status">
      <p>
        <strong>{of.name}</strong> {t('is created. Copy the key now: it is not shown again.')}
      </p>
      <p>
        <code class="address" data-token>
          {of.token}
        </code>
      </p>
      <p class="actions">
        <Copy text={of.token}>{t('Copy the key')}</Copy>
        <button type="button" class="plain" onClick={done}>
          {t('Done')}
        </button>
      </p>
    </div>
  );
}

function List({ of, reading }: { of: Tokens; reading: Reading<Tokens> }) {
  return (
    <Table
      label={t('API keys')}
      heads={[
        t('Name'),
        t('Permissions'),
        t('Created'),
        t('Expires'),
        t('Last used'),
        t('IP addresses'),
        '',
      ]}
      nothing={t('No API keys yet. A program sends its key in the header x-user-token.')}
      rows={of.tokens.map((each) => ({
        key: each.tokenId,
        cells: [
          each.name,
          SCOPES[each.scope],
          dayAndTime(each.createdAtMs),
          each.expiresAtMs === null ? t('Never') : dayAndTime(each.expiresAtMs),
          each.lastUsedAtMs === null ? '\u2013' : dayAndTime(each.lastUsedAtMs),
          each.allowedAddresses?.join(', ') ?? t('Any'),
          <Action
            key="revoke"
            label={t('Revoke {0}', each.name)}
            run={async () => {
              await revokeToken(api, each.tokenId);
              await reading.again();
            }}
          >
            {t('Revoke')}
          </Action>,
        ],
      }))}
    />
  );
}
