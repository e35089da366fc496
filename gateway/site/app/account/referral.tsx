/** The user's referral code: copy, change, and earnings. */
import { useSignal } from '@preact/signals';
import { toMicros } from '../../../client/amounts.js';
import { referral, setReferralCode } from '../../../client/index.js';
import type { OwnReferral } from '../../../client/types.js';
import { api, problemOf, sentenceOf } from '../model/exchange.js';
import { user } from '../model/session.js';
import { Action } from '../parts/action.js';
import { TextField } from '../parts/fields.js';
import { Fact } from '../parts/figure.js';
import { Form } from '../parts/form.js';
import { dollars, whole } from '../parts/format.js';
import { Panel } from '../parts/panel.js';
import { Read, type Reading, useReading } from '../parts/reading.js';

export function ReferralPanel() {
  const userId = user.value?.userId ?? '';
  // With the session, the answer includes the user's own earnings.
  const reading = useReading(() => referral(api, userId) as Promise<OwnReferral>, userId);
  return (
    <div class="columns">
      <Panel title="Your code">
        <div class="panel-body stack">
          <Read of={reading}>{(own) => <Code of={own} />}</Read>
        </div>
      </Panel>
      <Panel title="Change your code">
        <div class="panel-body">
          <ChangeForm reading={reading} userId={userId} />
        </div>
      </Panel>
    </div>
  );
}

function Code({ of: { code, referredUsers, earned, pending } }: { of: OwnReferral }) {
  const said = useSignal('');
  const link = `${location.origin}/?ref=${encodeURIComponent(code)}`;
  const copy = async () => {
    await navigator.clipboard.writeText(link);
    said.value = 'Copied.';
  };
  return (
    <>
      <p class="figure-value">{code}</p>
      <p>
        <code class="address">{link}</code>
      </p>
      <p>
        <Action isLocal={true} run={copy}>
          Copy link
        </Action>{' '}
        <span class="soft" role="status">
          {said.value}
        </span>
      </p>
      <dl class="forecast">
        <Fact label="Users referred" value={whole(referredUsers)} />
        <Fact label="Earned, 10% of their fees" value={dollars(toMicros(earned))} />
        <Fact label="Pending, until their markets are decided" value={dollars(toMicros(pending))} />
      </dl>
    </>
  );
}

function ChangeForm(props: { reading: Reading<OwnReferral>; userId: string }) {
  const code = useSignal('');
  const problem = useSignal<string | undefined>(undefined);
  const send = async () => {
    problem.value = undefined;
    props.reading.set(await setReferralCode(api, props.userId, code.peek().trim()));
    code.value = '';
  };
  const refused = (error: unknown) => {
    const said = problemOf(error, 'code');
    problem.value = said === null ? sentenceOf(error) : `The code ${said}.`;
  };
  return (
    <Form button="Change code" send={send} refused={refused}>
      <TextField
        label="New code"
        name="code"
        autocomplete="off"
        value={code}
        problem={problem.value}
        hint="3 to 20 letters, digits, hyphens or underscores. Your old code keeps working."
      />
    </Form>
  );
}
