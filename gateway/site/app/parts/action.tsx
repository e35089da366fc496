/** A button that sends a request and shows the refusal next to itself. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { isLost, sentenceOf } from '../model/exchange.js';
import { notice } from '../model/notice.js';

export function Action(props: {
  run: () => Promise<unknown>;
  class?: string;
  /** For screen readers, if the text alone is ambiguous. */
  label?: string;
  disabled?: boolean;
  /** Works without the exchange. */
  isLocal?: boolean;
  children: ComponentChildren;
}) {
  const isRunning = useSignal(false);
  const problem = useSignal('');
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
        type="button"
        class={props.class ?? 'plain'}
        aria-label={props.label}
        disabled={
          isRunning.value || props.disabled === true || (isLost.value && props.isLocal !== true)
        }
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
