/** Which dialog is open, and what was in focus before. */
import { signal } from '@preact/signals';

export type DialogName = 'register' | 'signIn' | 'keys';

export const dialog = signal<DialogName | null>(null);
let before: Element | null = null;

export function openDialog(name: DialogName): void {
  if (dialog.peek() === null) before = document.activeElement;
  dialog.value = name;
}

export function closeDialog(): void {
  dialog.value = null;
  if (before instanceof HTMLElement) before.focus();
  before = null;
}
