/**
 * Whether a command, or a request, only cancels: it then counts as cancels for fair use, and has a
 * reserve under overload.
 */
import type { Command } from '../../engine/interface/commands.js';

export const CANCEL_KINDS = ['cancel', 'cancelAll', 'cancelEverywhere'] as const;
const CANCELS: ReadonlySet<string> = new Set(CANCEL_KINDS);

export function onlyCancels(command: Command): boolean {
  return command.kind === 'batch'
    ? command.operations.every(({ kind }) => CANCELS.has(kind))
    : CANCELS.has(command.kind);
}

const OP = Buffer.from('"op"');
const CANCEL = Buffer.from('"cancel');

/**
 * Whether the first operation of a batch cancels, from the bytes of its body: all that is looked at
 * before the sender is known. Without one, the batch does not only cancel.
 */
export function beginsWithCancel(body: Uint8Array): boolean {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.length);
  for (let at = bytes.indexOf(OP); at >= 0; at = bytes.indexOf(OP, at + 1)) {
    const colon = afterSpace(bytes, at + OP.length);
    if (bytes[colon] !== 0x3a) continue;
    const value = afterSpace(bytes, colon + 1);
    return bytes.subarray(value, value + CANCEL.length).equals(CANCEL);
  }
  return false;
}

function afterSpace(bytes: Uint8Array, from: number): number {
  let at = from;
  for (let code = bytes[at]; code === 0x20 || (code! >= 0x09 && code! <= 0x0d); code = bytes[at])
    at++;
  return at;
}
