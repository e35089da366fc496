/** Registration, sign-in and password recovery. */
import { useSignal } from '@preact/signals';
import { setAutoClaim } from '../../../client/index.js';
import { closeDialog, openDialog } from '../model/dialog.js';
import { api } from '../model/exchange.js';
import { notice } from '../model/notice.js';
import { signIn, signInWithCode, signUp } from '../model/session.js';
import { isGuided } from '../model/ticket.js';
import { Check } from '../parts/action.js';
import { Dialog, Form, TextField } from '../parts/form.js';
import { t } from '../words/words.js';

const NAMES = {
  username: 'The username',
  password: 'The password',
  code: 'The code',
  newPassword: 'The password',
  referralCode: 'The code',
};

/** The account exists in any case, so a failure is not shown in the form. */
async function payOut(): Promise<void> {
  await setAutoClaim(api, 'me', true).catch(() => {
    notice.value = t(
      'Automatic payout could not be turned on. You can turn it on in the settings.',
    );
  });
}

const WRONG_CODE = t(
  'The username or the code is wrong, or the code was used or is older than an hour.',
);

export const SignIn = () => <Entrance isNew={false} />;
export const SignUp = () => <Entrance isNew={true} />;

/** The address may contain a referral code: /?ref=CODE. */
function Entrance({ isNew }: { isNew: boolean }) {
  const username = useSignal('');
  const password = useSignal('');
  const referralCode = useSignal(new URLSearchParams(location.search).get('ref') ?? '');
  const paysOut = useSignal(false);
  const send = async () => {
    if (isNew) {
      await signUp(username.peek(), password.peek(), referralCode.peek().trim());
      isGuided.value = 'yes';
      if (paysOut.peek()) await payOut();
    } else await signIn(username.peek(), password.peek());
    closeDialog();
    return undefined;
  };
  const other = (
    <p class="soft">
      {isNew ? t('Already have an account? ') : t('New here? ')}
      <button type="button" class="link" onClick={() => openDialog(isNew ? 'signIn' : 'register')}>
        {isNew ? t('Sign in') : t('Sign up')}
      </button>
    </p>
  );
  const forgotten = !isNew && (
    <p class="soft">
      <button type="button" class="link" onClick={() => openDialog('recover')}>
        {t('Forgot your password?')}
      </button>
    </p>
  );
  return (
    <Dialog title={isNew ? t('Create an account') : t('Sign in')}>
      <Form
        button={isNew ? t('Create account') : t('Sign in')}
        send={send}
        names={NAMES}
        codes={{ username_taken: ['username'], wrong_credentials: ['password'] }}
        after={
          <>
            {other}
            {forgotten}
          </>
        }
      >
        <TextField
          label={t('Username')}
          name="username"
          autocomplete="username"
          value={username}
          hint={isNew ? t('3 to 20 letters, digits, hyphens or underscores') : undefined}
        />
        <TextField
          label={t('Password')}
          name="password"
          type="password"
          autocomplete={isNew ? 'new-password' : 'current-password'}
          value={password}
          hint={isNew ? t('At least 8 characters') : undefined}
        />
        {isNew && (
          <>
            <TextField
              label={t('Referral code, if you have one')}
              name="referralCode"
              value={referralCode}
            />
            <Check
              label={t('Pay my winnings automatically')}
              checked={paysOut.value}
              onChange={({ checked }) => (paysOut.value = checked)}
            />
          </>
        )}
      </Form>
    </Dialog>
  );
}

export function Recover() {
  const username = useSignal('');
  const code = useSignal('');
  const newPassword = useSignal('');
  const send = async () => {
    await signInWithCode(username.peek(), code.peek(), newPassword.peek());
    closeDialog();
    return undefined;
  };
  const other = (
    <p class="soft">
      {t('Remember it? ')}
      <button type="button" class="link" onClick={() => openDialog('signIn')}>
        {t('Sign in')}
      </button>
    </p>
  );
  return (
    <Dialog title={t('Set a new password')}>
      <p class="soft">
        {t(
          'Ask the operator of the exchange for a code. It works once, for an hour, and signs you out everywhere else.',
        )}
      </p>
      <Form
        button={t('Set password')}
        send={send}
        names={NAMES}
        codes={{ wrong_credentials: ['code', WRONG_CODE] }}
        after={other}
      >
        <TextField label={t('Username')} name="username" autocomplete="username" value={username} />
        <TextField label={t('Code')} name="code" autocomplete="one-time-code" value={code} />
        <TextField
          label={t('New password')}
          name="newPassword"
          type="password"
          autocomplete="new-password"
          value={newPassword}
          hint={t('At least 8 characters')}
        />
      </Form>
    </Dialog>
  );
}
