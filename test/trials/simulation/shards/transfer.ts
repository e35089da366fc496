/**
 * A transfer of money between two shards: a withdrawal in one journal and a deposit in another,
 * both under one reference. The engine makes each of them once per reference, however often it is
 * asked, and keeps the references with its state.
 *
 * The reference names both shards, so that a journal alone says where the money has gone to.
 */
import { Code } from '../../../../engine/interface/codes.js';
import type { Command, Deposit, Withdraw } from '../../../../engine/interface/commands.js';
import { ResultHead } from '../../../../engine/interface/results.js';

/** In whose name the shards move money. It registers the users, so it may withdraw. */
export const PARTNER = 'shards';

export interface Transfer {
  /** The reference. */
  id: string;
  from: number;
  to: number;
  userId: number;
  amountMicros: number;
}

export function transferId(from: number, to: number, name: string): string {
  return `${from}>${to}:${name}`;
}

export function debitOf({ id, userId, amountMicros }: Transfer): Withdraw {
  return { kind: 'withdraw', userId, amountMicros, partner: PARTNER, reference: id };
}

export function creditOf({ id, userId, amountMicros }: Transfer): Deposit {
  return { kind: 'deposit', userId, amountMicros, partner: PARTNER, reference: id };
}

/** The transfer of which the command is a part; null: it is another command. */
export function transferOf(command: Command): Transfer | null {
  if (command.kind !== 'withdraw' && command.kind !== 'deposit') return null;
  const { reference: id, userId, amountMicros } = command;
  const [from, to] = id.split(/[>:]/, 2).map(Number) as [number, number];
  return { id, from, to, userId, amountMicros };
}

/** Whether the engine's result, as results.ts lays it out, is that of a command it has executed. */
export function isOk(result: ArrayLike<number>): boolean {
  return result[ResultHead.code] === Code.ok;
}
