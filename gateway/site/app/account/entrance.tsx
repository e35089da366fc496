/** Registration and signing in, with every refusal beside its field. */
import { useSignal } from '@preact/signals';
import { ExchangeError } from '../../../client/errors.js';
import { closeDialog, openDialog } from '../model/dialog.js';
import { sentenceOf } from '../model/exchange.js';
import { signIn, signUp } from '../model/session.js';
import { Dialog } from '../parts/dialog.js';
import { TextField } from '../parts/fields.js';
import { Form } from '../parts/form.js';

type Field = 'username' | 'password' | 'referralCode' | 'form';
type Problems = Partial<Record<Field, string>>;

const LABELS: Record<string, string> = {
  username: 'The username',
  password: 'The password',
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

export const SignIn = () => <Entrance isNew={false} />;
export const SignUp = () => <Entrance isNew={true} />;

/** A referral code may be in the address that led here: /?ref=CODE. */
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
  return (
    <Dialog title={isNew ? 'Create an account' : 'Sign in'}>
      <Form
        button={isNew ? 'Create account' : 'Sign in'}
        send={send}
        refused={refused}
        problem={found.form}
        after={other}
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
