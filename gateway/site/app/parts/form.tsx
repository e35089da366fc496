/**
 * Dialogs, forms and their fields. A form shows each refusal at its field. It ignores submits while
 * sending, so that a double click sends once, and sends nothing while the connection is lost.
 */
import { type Signal, useSignal } from '@preact/signals';
import { type ComponentChildren, createContext } from 'preact';
import { useContext, useLayoutEffect, useRef } from 'preact/hooks';
import { ExchangeError } from '../../../client/index.js';
import { closeDialog, giveFocusBack } from '../model/dialog.js';
import { isLost, sentenceOf } from '../model/exchange.js';
import { t } from '../words/words.js';

/** Sentences by the field's name. `form` is for problems of the form as a whole. */
type Problems = Readonly<Record<string, string | undefined>>;
const FormProblems = createContext<Problems>({});

interface Words {
  /** The form's field for each request field that a refusal may name. */
  names?: Readonly<Record<string, string>>;
  /** The fields, and sentences, of refusals that do not name a field. */
  codes?: Readonly<Record<string, readonly [field: string, sentence?: string]>>;
}

function problemsOf(error: unknown, { names = {}, codes = {} }: Words): Problems {
  if (!(error instanceof ExchangeError)) return { form: sentenceOf(error) };
  const { code, details, message } = error;
  const [field = 'form', sentence = message] = codes[code] ?? [];
  if (code !== 'invalid_request') return { [field]: sentence };
  const said = Object.entries(details).map(([name, problem]) =>
    Object.hasOwn(names, name) ? [name, `${names[name]} ${String(problem)}.`] : ['form', message],
  );
  return Object.fromEntries(said);
}

export function Form(
  props: Words & {
    class?: string;
    button: string;
    disabled?: boolean;
    /** A problem known before sending. */
    problem?: string;
    /** Returns problems if the form is not sent. */
    send: () => Promise<Problems | undefined>;
    after?: ComponentChildren;
    children: ComponentChildren;
  },
) {
  const isSending = useSignal(false);
  const problems = useSignal<Problems>({});
  const submit = async (event: Event) => {
    event.preventDefault();
    if (isSending.peek()) return;
    isSending.value = true;
    problems.value = {};
    try {
      problems.value = (await props.send()) ?? {};
    } catch (error) {
      problems.value = problemsOf(error, props);
    } finally {
      isSending.value = false;
    }
  };
  return (
    <form
      class={`entrance ${props.class ?? ''}`}
      onSubmit={(event) => void submit(event)}
      noValidate
    >
      <FormProblems.Provider value={problems.value}>{props.children}</FormProblems.Provider>
      <p class="problem" role="alert">
        {problems.value['form'] ?? props.problem ?? ''}
      </p>
      <button type="submit" class="send neutral" disabled={isLost.value || props.disabled === true}>
        {props.button}
      </button>
      {props.after}
    </form>
  );
}

export function TextField(props: {
  label: string;
  name: string;
  value: Signal<string>;
  type?: 'text' | 'password' | 'date' | 'datetime-local';
  autocomplete?: string;
  /** The problem to show. Default: the form's problem with this field. */
  problem?: string | undefined;
  hint?: string | undefined;
  inputMode?: 'decimal' | 'text';
}) {
  const { label, name, value, type = 'text', autocomplete = 'off', hint } = props;
  const problem = useContext(FormProblems)[name] ?? props.problem;
  return (
    <div class="field">
      <label for={name}>{label}</label>
      <div class="input-line">
        <input
          id={name}
          name={name}
          type={type as 'text'}
          autocomplete={autocomplete as 'off'}
          autocapitalize="none"
          spellcheck={false}
          inputMode={props.inputMode ?? 'text'}
          value={value.value}
          aria-invalid={problem !== undefined}
          aria-describedby={`${name}-problem ${name}-hint`}
          onInput={({ currentTarget }) => {
            value.value = currentTarget.value;
          }}
        />
      </div>
      {hint !== undefined && (
        <p class="soft small" id={`${name}-hint`}>
          {hint}
        </p>
      )}
      <p class="problem" id={`${name}-problem`} role="alert">
        {problem ?? ''}
      </p>
    </div>
  );
}

export function Select<Value extends string>(props: {
  label: string;
  name: string;
  value: Signal<Value>;
  options: readonly (readonly [value: Value, label: string])[];
}) {
  const { label, name, value, options } = props;
  return (
    <div class="field">
      <label for={name}>{label}</label>
      <select
        id={name}
        value={value.value}
        onChange={({ currentTarget }) => {
          value.value = currentTarget.value as Value;
        }}
      >
        {options.map(([each, text]) => (
          <option key={each} value={each}>
            {text}
          </option>
        ))}
      </select>
    </div>
  );
}

export function Dialog(props: { title: string; children: ComponentChildren }) {
  const element = useRef<HTMLDialogElement>(null);
  // Runs before the next paint, so that text typed immediately goes to the dialog.
  useLayoutEffect(() => {
    const shown = element.current;
    shown?.showModal();
    shown?.querySelector<HTMLElement>('form :is(input, select), .send')?.focus();
    return () => {
      shown?.close();
      giveFocusBack();
    };
  }, []);
  return (
    <dialog class="dialog" ref={element} aria-labelledby="dialog-title" onCancel={closeDialog}>
      <header>
        <h2 id="dialog-title">{props.title}</h2>
        <button type="button" class="plain" aria-label={t('Close')} onClick={closeDialog}>
          ×
        </button>
      </header>
      {props.children}
    </dialog>
  );
}
