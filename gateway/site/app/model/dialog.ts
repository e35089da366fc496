/** The phone's menu; the open dialog, and the element that had the focus before. */
import { signal } from '@preact/signals';
import type { RestingOrder } from '../../../client/index.js';

type DialogName = 'register' | 'signIn' | 'recover' | 'keys' | 'amend';

export const dialog = signal<DialogName | null>(null);
/** Whether the phone's menu is open. */
export const isMenuOpen = signal(false);
export const amended = signal<RestingOrder | null>(null);
let before: Element | null = null;

export function openDialog(name: DialogName): void {
  if (dialog.peek() === null) before = document.activeElement;
  dialog.value = name;
}

export function closeDialog(): void {
  dialog.value = null;
}

/** Call after closing the dialog. While it is open, no other element can have the focus. */
export function giveFocusBack(): void {
  if (dialog.peek() !== null) return;
  // The element that opened the dialog may be gone.
  const back = before instanceof HTMLElement && before.isConnected ? before : null;
  (back ?? document.getElementById('content'))?.focus();
  before = null;
}

export function openAmend(of: RestingOrder): void {
  amended.value = of;
  openDialog('amend');
}
