/** Labelled inputs. */
import type { Signal } from '@preact/signals';

/** A text input with its hint and refusal. */
export function TextField(props: {
  label: string;
  name: string;
  value: Signal<string>;
  type?: 'text' | 'password' | 'date' | 'datetime-local';
  autocomplete: string;
  problem?: string | undefined;
  hint?: string | undefined;
  inputMode?: 'decimal' | 'text';
}) {
  const { label, name, value, type = 'text', autocomplete, problem, hint } = props;
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

/** A list to choose one entry from. */
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
