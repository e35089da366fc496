/**
 * Deep copies of plain objects and arrays: the naive engine's state, which a refused atomic batch
 * restores, and commands. Decimals and texts are immutable and shared.
 */
import type { Command } from '../../../engine/interface/commands.js';
import type { NaiveState } from './state.js';

export function copyOf(state: NaiveState): NaiveState {
  // Operations of a batch cannot change this, so it is shared.
  return {
    ...state,
    ...deepCopy({ users: state.users, markets: state.markets, events: state.events }),
  };
}

/** The command as stored in the journal, which has no -0. */
export function withoutMinusZero(command: Command): Command {
  return deepCopy(command);
}

function deepCopy<T>(value: T): T {
  if (typeof value === 'number') return (value + 0) as T;
  if (Array.isArray(value)) return value.map(deepCopy) as T;
  if (
    value === null ||
    typeof value !== 'object' ||
    Object.getPrototypeOf(value) !== Object.prototype
  ) {
    return value;
  }
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, deepCopy(one)])) as T;
}
