/** UP and DOWN, told apart by a sign as well as by colour. */
import type { OutcomeName } from '../model/book.js';

/** Drawn, not written: not every font has the triangles. */
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
