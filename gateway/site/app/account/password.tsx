/** Changing the password, which ends every other session. */
import { useSignal } from '@preact/signals';
import { ExchangeError } from '../../../client/errors.js';
import { problemOf, sentenceOf } from '../model/exchange.js';
import { newPasswordOf } from '../model/session.js';
import { TextField } from '../parts/fields.js';
import { Form } from '../parts/form.js';
import { Panel } from '../parts/panel.js';

type Problems = Partial<Record<'currentPassword' | 'newPassword' | 'form', string>>;

function problemsOf(error: unknown): Problems {
  if (!(error instanceof ExchangeError)) return { form: sentenceOf(error) };
  if (error.code === 'wrong_credentials')
    return { currentPassword: 'The current password is wrong.' };
  const said = problemOf(error, 'newPassword');
  return said === null ? { form: error.message } : { newPassword: `The new password ${said}.` };
}

export function PasswordForm() {
  const currentPassword = useSignal('');
  const newPassword = useSignal('');
  const problems = useSignal<Problems>({});
  const said = useSignal('');
  const send = async () => {
    problems.value = {};
    said.value = '';
    await newPasswordOf(currentPassword.peek(), newPassword.peek());
    currentPassword.value = '';
    newPassword.value = '';
    said.value = 'Password changed. All other sessions and API keys have ended.';
  };
  const refused = (error: unknown) => {
    problems.value = problemsOf(error);
  };
  const found = problems.value;
  return (
    <Panel title="Password">
      <Form
        class="panel-body"
        button="Change password"
        send={send}
        refused={refused}
        problem={found.form}
        after={<p role="status">{said.value}</p>}
      >
        <TextField
          label="Current password"
          name="currentPassword"
          type="password"
          autocomplete="current-password"
          value={currentPassword}
          problem={found.currentPassword}
        />
        <TextField
          label="New password"
          name="newPassword"
          type="password"
          autocomplete="new-password"
          value={newPassword}
          problem={found.newPassword}
          hint="At least 8 characters"
        />
      </Form>
    </Panel>
  );
}
