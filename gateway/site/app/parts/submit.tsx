/** The button that sends a form. While the connection is lost, nothing is sent. */
import type { ComponentChildren } from 'preact';
import { isLost } from '../model/exchange.js';

export function Submit(props: { disabled?: boolean; children: ComponentChildren }) {
  return (
    <button type="submit" class="send neutral" disabled={isLost.value || props.disabled === true}>
      {props.children}
    </button>
  );
}
