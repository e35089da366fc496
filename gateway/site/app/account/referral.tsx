/** The user's referral code: copy, change, and earnings. */
import { useSignal } from '@preact/signals';
import { type OwnReferral, referral, setReferralCode, toMicros } from '../../../client/index.js';
import { api } from '../model/exchange.js';
import { user } from '../model/session.js';
import { Copy } from '../parts/action.js';
import { Form, TextField } from '../parts/form.js';
import { dollars, whole } from '../parts/format.js';
import { Fact, Panel } from '../parts/panel.js';
import { Read, type Reading, useReading } from '../parts/reading.js';
import { t } from '../words/words.js';

export function ReferralPanel() {
  const userId = user.value?.userId ?? '';
  // With the session, the answer includes the user's own earnings.
  const reading = useReading(() => referral(api, userId) as Promise<OwnReferral>, userId);
  return (
    <div class="columns">
      <Panel title={t('Your code')}>
        <div class="panel-body stack">
          <Read of={reading}>{(own) => <Code of={own} />}</Read>
        </div>
      </Panel>
      <Panel title={t('Change your code')}>
        <div class="panel-body">
          <ChangeForm reading={reading} userId={userId} />
        </div>
      </Panel>
    </div>
  );
}

function Code({ of: { code, referredUsers, earned, pending } }: { of: OwnReferral }) {
  const link = `${location.origin}/?ref=${encodeURIComponent(code)}`;
  return (
    <>
      <p class="figure-value">{code}</p>
      <p>
        <code class="address">{link}</code>
      </p>
      <p>
        <Copy text={link}>{t('Copy link')}</Copy>
      </p>
      <dl class="forecast">
        <Fact label={t('Users referred')} value={whole(referredUsers)} />
        <Fact label={t('Earned, 10% of their fees')} value={dollars(toMicros(earned))} />
        <Fact
          label={t('Pending, until their markets are decided')}
          value={dollars(toMicros(pending))}
        />
      </dl>
    </>
  );
}

function ChangeForm(props: { reading: Reading<OwnReferral>; userId: string }) {
  const code = useSignal('');
  const send = async () => {
    props.reading.set(await setReferralCode(api, props.userId, code.peek().trim()));
    code.value = '';
    return undefined;
  };
  return (
    <Form
      button={t('Change code')}
      send={send}
      names={{ code: 'The code' }}
      codes={{ referral_code_taken: ['code'] }}
    >
      <TextField
        label={t('New code')}
        name="code"
        value={code}
        hint={t('3 to 20 letters, digits, hyphens or underscores. Your old code keeps working.')}
      />
    </Form>
  );
}
