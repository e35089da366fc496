/** Registration, sign-in and password recovery. Each refusal is shown at its field. */
import { useSignal } from '@preact/signals';
import { ExchangeError } from '../../../client/errors.js';
import { closeDialog, openDialog } from '../model/dialog.js';
import { sentenceOf } from '../model/exchange.js';
import { signIn, signInWithCode, signUp } from '../model/session.js';
import { Dialog } from '../parts/dialog.js';
import { TextField } from '../parts/fields.js';
import { Form } from '../parts/form.js';

type Field = 'username' | 'password' | 'code' | 'newPassword' | 'referralCode' | 'form';
type Problems = Partial<Record<Field, string>>;

const LABELS: Record<string, string> = {
  username: 'The username',
  password: 'The password',
  code: 'The code',
  newPassword: 'The password',
  referralCode: 'The code',
};
const FIELD_OF_CODE: Record<string, Field> = {
  username_taken: 'username',
  wrong_credentials: 'password',
};

function problemsOf(error: unknown): Problems {
  if (!(error instanceof ExchangeError)) return { form: sentenceOf(error) };
  if (error.code !== 'invalid_request')
    return { [FIELD_OF_CODE[error.code] ?? 'form']: error.message };
  return Object.fromEntries(
    Object.entries(error.details).map(([name, problem]) =>
      Object.hasOwn(LABELS, name)
        ? [name, `${LABELS[name]} ${String(problem)}.`]
        : ['form', error.message],
    ),
  );
}

const WRONG_CODE =
  'The username or the code is wrong, or the code was used or is older than an hour.';

export const SignIn = () => <Entrance isNew={false} />;
export const SignUp = () => <Entrance isNew={true} />;

/** The address may contain a referral code: /?ref=CODE. */
function Entrance({ isNew }: { isNew: boolean }) {
  const username = useSignal('');
  const password = useSignal('');
  const referralCode = useSignal(new URLSearchParams(location.search).get('ref') ?? '');
  const problems = useSignal<Problems>({});
  const send = async () => {
    problems.value = {};
    if (isNew) await signUp(username.peek(), password.peek(), referralCode.peek().trim());
    else await signIn(username.peek(), password.peek());
    closeDialog();
  };
  const refused = (error: unknown) => {
    problems.value = problemsOf(error);
  };
  const found = problems.value;
  const other = (
    <p class="soft">
      {isNew ? 'Already have an account? ' : 'New here? '}
      <button type="button" class="link" onClick={() => openDialog(isNew ? 'signIn' : 'register')}>
        {isNew ? 'Sign in' : 'Sign up'}
      </button>
    </p>
  );
  const forgotten = !isNew && (
    <p class="soft">
      <button type="button" class="link" onClick={() => openDialog('recover')}>
        Forgot your password?
      </button>
    </p>
  );
  return (
    <Dialog title={isNew ? 'Create an account' : 'Sign in'}>
      <Form
        button={isNew ? 'Create account' : 'Sign in'}
        send={send}
        refused={refused}
        problem={found.form}
        after={
          <>
            {other}
            {forgotten}
          </>
        }
      >
        <TextField
          label="Username"
          name="username"
          autocomplete="username"
          value={username}
          problem={found.username}
          hint={isNew ? '3 to 20 letters, digits, hyphens or underscores' : undefined}
        />
        <TextField
          label="Password"
          name="password"
          type="password"
          autocomplete={isNew ? 'new-password' : 'current-password'}
          value={password}
          problem={found.password}
          hint={isNew ? 'At least 8 characters' : undefined}
        />
        {isNew && (
          <TextField
            label="Referral code, if you have one"
            name="referralCode"
            autocomplete="off"
            value={referralCode}
            problem={found.referralCode}
          />
        )}
      </Form>
    </Dialog>
  );
}

/** Sets a new password with a code from the operator. */
export function Recover() {
  const username = useSignal('');
  const code = useSignal('');
  const newPassword = useSignal('');
  const problems = useSignal<Problems>({});
  const send = async () => {
    problems.value = {};
    await signInWithCode(username.peek(), code.peek(), newPassword.peek());
    closeDialog();
  };
  const refused = (error: unknown) => {
    const isWrong = error instanceof ExchangeError && error.code === 'wrong_credentials';
    problems.value = isWrong ? { code: WRONG_CODE } : problemsOf(error);
  };
  const found = problems.value;
  const other = (
    <p class="soft">
      {'Remember it? '}
      <button type="button" class="link" onClick={() => openDialog('signIn')}>
        Sign in
      </button>
    </p>
  );
  return (
    <Dialog title="Set a new password">
      <p class="soft">
        Ask the operator of the exchange for a code. It works once, for an hour, and signs you out
        everywhere else.
      </p>
      <Form button="Set password" send={send} refused={refused} problem={found.form} after={other}>
        <TextField
          label="Username"
          name="username"
          autocomplete="username"
          value={username}
          problem={found.username}
        />
        <TextField
          label="Code"
          name="code"
          autocomplete="one-time-code"
          value={code}
          problem={found.code}
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
    </Dialog>
  );
}
