/** A button that sends a request and shows a refusal next to itself; choices; a box to tick. */
import { type Signal, useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { isLost, sentenceOf } from '../model/exchange.js';
import { notice } from '../model/notice.js';
import { t } from '../words/words.js';

export function Action(props: {
  run: () => Promise<unknown>;
  class?: string;
  label?: string;
  disabled?: boolean;
  isLocal?: boolean;
  children: ComponentChildren;
}) {
  const isRunning = useSignal(false);
  const problem = useSignal('');
  const button = useRef<HTMLButtonElement>(null);
  // A button that its own action removes leaves the focus near its place.
  useLayoutEffect(() => {
    const own = button.current;
    return () => {
      if (own === document.activeElement) own?.closest<HTMLElement>('.panel')?.focus();
    };
  }, []);
  const run = async () => {
    if (isRunning.peek()) return;
    isRunning.value = true;
    problem.value = '';
    notice.value = '';
    try {
      await props.run();
    } catch (error) {
      problem.value = sentenceOf(error);
    } finally {
      isRunning.value = false;
    }
  };
  return (
    <span class="action">
      <button
        ref={button}
        type="button"
        class={props.class ?? 'plain'}
        aria-label={props.label}
        // A disabled button would lose the focus.
        aria-disabled={isRunning.value}
        disabled={props.disabled === true || (isLost.value && props.isLocal !== true)}
        onClick={() => void run()}
      >
        {props.children}
      </button>
      <span class="problem" role="alert">
        {problem.value}
      </span>
    </span>
  );
}

/** Copies `text` and returns `done`, or the text itself if the browser refuses. */
export async function copy(text: string, done: string): Promise<string> {
  try {
    await navigator.clipboard.writeText(text);
    return done;
  } catch {
    return t('Could not copy. Here it is: {0}', text);
  }
}

/** Copies `text`, and says so. */
export function Copy({ text, children }: { text: string; children: ComponentChildren }) {
  const said = useSignal('');
  const run = async () => {
    said.value = await copy(text, t('Copied.'));
  };
  return (
    <span class="actions">
      <Action isLocal={true} run={run}>
        {children}
      </Action>
      <span class="soft" role="status">
        {said.value}
      </span>
    </span>
  );
}

interface Option<Value extends string> {
  value: Value;
  label: string;
}

/** The props of a choice that sets a signal. */
export function bound<Value>(to: Signal<Value>) {
  const onChoose = (value: Value) => {
    to.value = value;
  };
  return { chosen: to.value, onChoose };
}

export function Check(props: {
  label: string;
  checked: boolean;
  onChange: (box: HTMLInputElement) => void;
  disabled?: boolean;
  describedBy?: string;
}) {
  const { label, checked, onChange, disabled = false, describedBy } = props;
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={checked}
        disabled={disabled}
        aria-describedby={describedBy}
        onChange={({ currentTarget }) => onChange(currentTarget)}
      />
      {label}
    </label>
  );
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
