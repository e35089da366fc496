/** A row of buttons, exactly one of them chosen. */
interface Option<Value extends string> {
  value: Value;
  label: string;
}

export function Choice<Value extends string>(props: {
  label: string;
  options: readonly Option<Value>[];
  chosen: Value;
  onChoose: (value: Value) => void;
  class?: string;
}) {
  return (
    <fieldset class={`choice ${props.class ?? ''}`}>
      <legend class="unseen">{props.label}</legend>
      {props.options.map(({ value, label }) => (
        <button
          type="button"
          key={value}
          class="choice-option"
          data-value={value}
          aria-pressed={value === props.chosen}
          onClick={() => props.onChoose(value)}
        >
          {label}
        </button>
      ))}
    </fieldset>
  );
}
