/** A modal dialog: the browser's own, so it keeps the focus and Escape closes it. */
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { closeDialog, giveFocusBack } from '../model/dialog.js';

export function Dialog(props: { title: string; children: ComponentChildren }) {
  const element = useRef<HTMLDialogElement>(null);
  // Before the next paint: text typed immediately must go to the dialog.
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
