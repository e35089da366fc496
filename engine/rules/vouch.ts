/**
 * The exchange's statements about its own files, so that the journal's chain covers them. They
 * change nothing.
 */
import { Code } from '../interface/codes.js';
import type { CommandOf } from '../interface/commands.js';
import { isSha256 } from '../interface/fields.js';
import type { State } from '../state/state.js';
import { isIntegerBetween } from '../storage/arithmetic.js';

export function vouchForSnapshot(state: State, command: CommandOf<'vouchForSnapshot'>): number {
  const { snapshotSequence, snapshotHash } = command;
  if (!isIntegerBetween(snapshotSequence, 1, state.sequence - 1)) return Code.invalid_command;
  if (!isSha256(snapshotHash)) return Code.invalid_command;
  state.result.push(snapshotSequence);
  return Code.ok;
}

export function recordUpgrade(state: State, command: CommandOf<'recordUpgrade'>): number {
  const { fromVersion, toVersion, chainHash } = command;
  if (!isIntegerBetween(fromVersion, 0, toVersion - 1)) return Code.invalid_command;
  if (!Number.isSafeInteger(toVersion) || !isSha256(chainHash)) return Code.invalid_command;
  state.result.push(toVersion);
  return Code.ok;
}
