/**
 * A form with its button. It ignores further submits while sending, so a double click sends once.
 * It sends nothing while the connection is lost.
 */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { isLost } from '../model/exchange.js';

export function Form(props: {
  class?: string;
  /** The button's text. */
  button: string;
  disabled?: boolean;
  send: () => Promise<void>;
  refused: (error: unknown) => void;
  /** A problem that belongs to none of the fields. */
  problem?: string | undefined;
  /** Shown below the button. */
  after?: ComponentChildren;
  children: ComponentChildren;
}) {
  const isSending = useSignal(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    if (isSending.peek()) return;
    isSending.value = true;
    try {
      await props.send();
    } catch (error) {
      props.refused(error);
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
      {props.children}
      <p class="problem" role="alert">
        {props.problem ?? ''}
      </p>
      <button type="submit" class="send neutral" disabled={isLost.value || props.disabled === true}>
        {props.button}
      </button>
      {props.after}
    </form>
  );
}
