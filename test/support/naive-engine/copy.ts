/**
 * Copies of plain objects and arrays, all the way down: of the naive engine's state, for an atomic
 * batch to go back to, and of commands. Decimals and texts never change and are shared.
 */
import type { Command } from '../../../engine/interface/commands.js';
import type { NaiveState } from './state.js';

export function copyOf(state: NaiveState): NaiveState {
  // What no operation of a batch touches can stay.
  return {
    ...state,
    ...deepCopy({ users: state.users, markets: state.markets, events: state.events }),
  };
}

/** The command as the journal holds it, which has no -0. */
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
