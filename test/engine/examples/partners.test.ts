/** Deposits and withdrawals of partners by worked examples. */
import { describe, expect, test } from 'vitest';
import { CODES } from '../../../engine/interface/codes.js';
import type { Command, Deposit, Withdraw } from '../../../engine/interface/commands.js';
import {
  ALICE,
  BOB,
  CAROL,
  EXCHANGES,
  exchangeAfter,
  HOUSE,
  PEOPLE,
  START_MS,
} from './exchanges.js';

function transfer(
  kind: 'deposit' | 'withdraw',
  partner: string,
  userId: number,
  amount: number,
): Deposit | Withdraw {
  return { kind, userId, amountMicros: amount * 1e6, partner, reference: `the first ${kind}` };
}

interface TransferExample {
  name: string;
  given?: Command[];
  when: Deposit | Withdraw;
  code: (typeof CODES)[number];
}

const TRANSFERS: TransferExample[] = [
  {
    name: 'a partner withdraws from its own user',
    when: transfer('withdraw', 'bank', ALICE, 1_000),
    code: 'ok',
  },
  {
    name: "a partner cannot withdraw from another partner's user, whatever the balance",
    when: transfer('withdraw', 'card', ALICE, 5_000),
    code: 'user_not_of_partner',
  },
  {
    name: 'a partner cannot withdraw from a user without a partner',
    when: transfer('withdraw', 'bank', BOB, 1),
    code: 'user_not_of_partner',
  },
  {
    name: 'a partner without users cannot withdraw',
    when: transfer('withdraw', 'newcomer', BOB, 1),
    code: 'user_not_of_partner',
  },
  {
    name: "a partner deposits for another partner's user",
    when: transfer('deposit', 'card', ALICE, 50),
    code: 'ok',
  },
  {
    name: 'a partner deposits for a user without a partner',
    when: transfer('deposit', 'card', BOB, 50),
    code: 'ok',
  },
  {
    name: "a deposit does not make the user the partner's own",
    given: [transfer('deposit', 'card', BOB, 50)],
    when: transfer('withdraw', 'card', BOB, 50),
    code: 'user_not_of_partner',
  },
  {
    name: "another partner's deposit does not take the user away",
    given: [transfer('deposit', 'card', ALICE, 50)],
    when: transfer('withdraw', 'bank', ALICE, 1_050),
    code: 'ok',
  },
  {
    name: 'a partner cannot deposit for an exchange account',
    when: transfer('deposit', 'bank', HOUSE, 1),
    code: 'exchange_account',
  },
  {
    name: 'a partner cannot withdraw from an exchange account',
    when: transfer('withdraw', 'bank', HOUSE, 1),
    code: 'exchange_account',
  },
];

describe.each(Object.entries(EXCHANGES))('%s', (_name, start) => {
  test.each(TRANSFERS)('$name', ({ given = [], when, code }) => {
    const { exchange, atMs } = exchangeAfter(start, given);
    const before = exchange.money(when.userId).available;
    exchange.apply(when, atMs);
    expect(CODES[exchange.result()[1]!]).toBe(code);
    const sign = when.kind === 'deposit' ? 1 : -1;
    const change = code === 'ok' ? sign * (when.amountMicros / 1e6) : 0;
    expect(exchange.money(when.userId).available).toBe(before + change);
    // The refusal does not reveal the balance.
    if (code !== 'ok') expect(exchange.result().slice(4)).toEqual([0, 0]);
  });

  test('events name the registering partner by number', () => {
    const exchange = start();
    const numbers: number[] = [];
    for (const [i, { partner, credential }] of Object.values(PEOPLE).entries()) {
      const username = `somebody-${i}`;
      const registration = { username, credential, referralCode: '', grantMicros: 0, partner };
      exchange.apply({ kind: 'register', ...registration }, START_MS);
      for (const event of exchange.events())
        if (event.type === 'userRegistered') numbers.push(event.partner);
    }
    expect(numbers).toEqual([1, 0, 2, 1, 0]);
  });

  test('a refused withdrawal does not use up its reference', () => {
    const { exchange, atMs } = exchangeAfter(start, []);
    exchange.apply(transfer('withdraw', 'card', ALICE, 1), atMs);
    expect(CODES[exchange.result()[1]!]).toBe('user_not_of_partner');
    exchange.apply(transfer('withdraw', 'card', CAROL, 1), atMs);
    expect(CODES[exchange.result()[1]!]).toBe('ok');
  });
});
