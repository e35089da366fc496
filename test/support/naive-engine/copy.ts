/**
 * Deep copies of plain objects and arrays: commands, and the naive engine's state, which a refused
 * atomic batch restores. Decimals and texts are immutable and shared.
 */
import type { BatchOperation, Buy, Command, Sell } from '../../../engine/interface/commands.js';
import { Outcome, SelfTrade, TimeInForce } from '../../../engine/interface/domain.js';
import { MAX_TIME_MS } from '../../../engine/interface/limits.js';
import type { NaiveState } from './state.js';

export function copyOf(state: NaiveState): NaiveState {
  // Operations of a batch cannot change the rest, so it is shared.
  return {
    ...state,
    ...deepCopy({
      users: state.users,
      markets: state.markets,
      groups: state.groups,
      events: state.events,
      clientOrders: state.clientOrders,
      history: state.history,
    }),
  };
}

/**
 * The command as the journal stores it: without -0, and with one value in place of all impossible
 * users, outcomes and times in force.
 */
export function asRecorded(command: Command): Command {
  const copy = deepCopy(command);
  simplify(copy);
  if (copy.kind === 'batch') copy.operations.forEach(simplify);
  return copy;
}

function simplify(command: Command | BatchOperation): void {
  if ('clientOrderId' in command && command.clientOrderId === null) delete command.clientOrderId;
  if (isOrder(command) && command.expiresAtMs === MAX_TIME_MS) delete command.expiresAtMs;
  if (isOrder(command) && command.groupId === 0) delete command.groupId;
  if (isOrder(command) && command.selfTrade !== undefined) {
    if (command.selfTrade === SelfTrade.CANCEL_RESTING) delete command.selfTrade;
    else if (!Object.values(SelfTrade).includes(command.selfTrade))
      command.selfTrade = 3 as SelfTrade;
  }
  if ('userId' in command && (command.userId | 0) !== command.userId) command.userId = 0;
  if (command.kind !== 'buy' && command.kind !== 'sell') return;
  if (!Object.values(Outcome).includes(command.outcome)) command.outcome = 3 as Outcome;
  if (!Object.values(TimeInForce).includes(command.timeInForce))
    command.timeInForce = 3 as TimeInForce;
}

function isOrder(command: Command | BatchOperation): command is Buy | Sell {
  return command.kind === 'buy' || command.kind === 'sell';
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
