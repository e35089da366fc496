/** Changes the password, which ends every other session. */
import { useSignal } from '@preact/signals';
import { newPasswordOf } from '../model/session.js';
import { Form, TextField } from '../parts/form.js';
import { Panel } from '../parts/panel.js';
import { t } from '../words/words.js';

export function PasswordForm() {
  const currentPassword = useSignal('');
  const newPassword = useSignal('');
  const said = useSignal('');
  const send = async () => {
    said.value = '';
    await newPasswordOf(currentPassword.peek(), newPassword.peek());
    currentPassword.value = '';
    newPassword.value = '';
    said.value = t('Password changed. All other sessions and API keys have ended.');
    return undefined;
  };
  return (
    <Panel title={t('Password')}>
      <Form
        class="panel-body"
        button={t('Change password')}
        send={send}
        names={{ newPassword: 'The new password' }}
        codes={{ wrong_credentials: ['currentPassword', t('The current password is wrong.')] }}
        after={<p role="status">{said.value}</p>}
      >
        <TextField
          label={t('Current password')}
          name="currentPassword"
          type="password"
          autocomplete="current-password"
          value={currentPassword}
        />
        <TextField
          label={t('New password')}
          name="newPassword"
          type="password"
          autocomplete="new-password"
          value={newPassword}
          hint={t('At least 8 characters')}
        />
      </Form>
    </Panel>
  );
}
