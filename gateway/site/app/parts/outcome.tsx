/** UP and DOWN, distinguished by a sign and by colour. */
import type { OutcomeName } from '../model/book.js';

/** Drawn, because some fonts lack the triangles. */
export function Sign({ of }: { of: OutcomeName | 'VOID' }) {
  return <span class={`sign ${of.toLowerCase()}`} aria-hidden="true" />;
}

export function Outcome({ of }: { of: OutcomeName | 'VOID' }) {
  return (
    <span class={`outcome ${of.toLowerCase()}`}>
      <Sign of={of} /> {of}
    </span>
  );
}
