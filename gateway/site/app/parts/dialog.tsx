/** A modal dialog: the browser's own, so focus stays in it and Escape closes it. */
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { closeDialog, giveFocusBack } from '../model/dialog.js';

export function Dialog(props: { title: string; children: ComponentChildren }) {
  const element = useRef<HTMLDialogElement>(null);
  // Not after the next paint: who types on at once would lose the focus to what had it before.
  useLayoutEffect(() => {
    const shown = element.current;
    shown?.showModal();
    shown?.querySelector<HTMLElement>('form :is(input, select), .send')?.focus();
    return () => {
      shown?.close();
      giveFocusBack();
    };
  }, []);
  return (
    <dialog class="dialog" ref={element} aria-labelledby="dialog-title" onCancel={closeDialog}>
      <header>
        <h2 id="dialog-title">{props.title}</h2>
        <button type="button" class="plain" aria-label="Close" onClick={closeDialog}>
          ×
        </button>
      </header>
      {props.children}
    </dialog>
  );
}
