/** A field's refusal, announced to screen readers when it appears. */
import { type Field, refusal } from './refusal.js';

export function Problem({ of }: { of: Field }) {
  const found = refusal.value;
  return (
    <p class="problem" id={`${of}-problem`} role="alert">
      {found?.field === of ? found.sentence : ''}
    </p>
  );
}
