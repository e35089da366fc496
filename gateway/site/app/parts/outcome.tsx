/** UP and DOWN, told apart by a sign as well as by colour. */
import type { OutcomeName } from '../model/book.js';

export const SIGNS = { UP: '▲', DOWN: '▼', VOID: '■' } as const;

export function Outcome({ of }: { of: OutcomeName | 'VOID' }) {
  return (
    <span class={`outcome ${of.toLowerCase()}`}>
      <span aria-hidden="true">{SIGNS[of]} </span>
      {of}
    </span>
  );
}
