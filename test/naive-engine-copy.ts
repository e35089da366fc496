/**
 * A copy of the naive engine's state, for an atomic batch to go back to: plain objects and arrays are copied all the
 * way down, decimals and texts never change and are shared.
 */
import type { NaiveState } from './naive-engine-state.js';

export function copyOf(state: NaiveState): NaiveState {
  // What no operation of a batch touches can stay.
  return { ...state, ...deepCopy({ users: state.users, markets: state.markets, events: state.events }) };
}

function deepCopy<T>(value: T): T {
  if (Array.isArray(value)) return value.map(deepCopy) as T;
  if (value === null || typeof value !== 'object' || Object.getPrototypeOf(value) !== Object.prototype) {
    return value;
  }
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, deepCopy(one)])) as T;
}
