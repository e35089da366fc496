/** The user and the market that a command or an event concerns. */
import type { Command } from '../../../engine/interface/commands.js';
import type { EventRecord } from '../../../engine/interface/events.js';

export function isCommandOf(command: Command, userId: number): boolean {
  return 'userId' in command && command.userId === userId;
}

export function isCommandIn(command: Command, marketId: number): boolean {
  if (command.kind === 'batch')
    return command.operations.some((operation) => operation.marketId === marketId);
  return 'marketId' in command && command.marketId === marketId;
}

export function isEventOf(event: EventRecord, userId: number): boolean {
  if (event.type === 'trade') return event.takerId === userId || event.makerId === userId;
  if ('referrerId' in event && event.referrerId === userId) return true;
  return 'userId' in event && event.userId === userId;
}

export function isEventIn(event: EventRecord, marketId: number): boolean {
  return 'marketId' in event && event.marketId === marketId;
}
