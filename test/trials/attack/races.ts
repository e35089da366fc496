/**
 * One request on many connections simultaneously: as many succeed as may, and money and shares
 * agree.
 */
import { expect } from 'vitest';
import { eventually } from '../../support/eventually.js';
import { Client } from '../../support/http/client.js';
import type { RequestFields } from '../../support/http/messages.js';
import type { Stage, User } from './stage.js';

interface Race {
  request(i: number): RequestFields;
  /** The number of answers with each status. */
  statuses: Readonly<Record<number, number>>;
  /** The money that must be missing after these answers succeeded. */
  spent(won: readonly { text: string; json: Record<string, number> }[]): number;
}

const RUNNERS = 40;
/** Real time that a race needs its market for. */
const RACE_MS = 3_000;

const stakeOf = (amount: number, key: string): RequestFields => ({
  method: 'POST',
  path: '/vaults/flex/stake',
  headers: { 'Idempotency-Key': key },
  body: { amount },
});

/** Buys until the house quotes. */
async function owned(stage: Stage, user: User, outcome: string) {
  const marketId = await stage.openMarket(RACE_MS);
  let shares = 0;
  await eventually(async () => {
    const { status, json } = await stage.order(user, marketId, 'buy', { outcome, amount: 10 });
    if (status === 200) shares = json.shares;
    return status === 200;
  });
  return { marketId, shares };
}

const RACES: Readonly<Record<string, (stage: Stage, user: User) => Promise<Race>>> = {
  'sell all of the same shares': async (stage, user) => {
    const { marketId, shares } = await owned(stage, user, 'UP');
    const body = { outcome: 'UP', shares, price: 0.999, timeInForce: 'GTC' };
    const path = `/markets/15m/${marketId}/sell`;
    const statuses = { 200: 1, 422: RUNNERS - 1 };
    return { request: () => ({ method: 'POST', path, body }), statuses, spent: () => 0 };
  },
  'stake 300,000 of 1,000,000 dollars': async () => ({
    request: (i) => stakeOf(300_000, `overspend:${i}`),
    statuses: { 201: 3, 422: RUNNERS - 3 },
    spent: () => 900_000,
  }),
  "claim the same market's winnings": async (stage, user) => {
    const { marketId } = await owned(stage, user, 'UP');
    await stage.order(user, marketId, 'buy', { outcome: 'DOWN', amount: 10 });
    await eventually(async () => {
      return (await stage.api.get(`/markets/${marketId}`)).json.status === 'resolved';
    });
    const path = `/markets/15m/${marketId}/claim`;
    return {
      request: () => ({ method: 'POST', path, body: {} }),
      statuses: { 200: 1, 409: RUNNERS - 1 },
      spent: ([won]) => -won!.json['payout']!,
    };
  },
  'one key, one stake': async () => ({
    request: () => stakeOf(7, 'one-key'),
    statuses: { 201: RUNNERS },
    spent: (won) => {
      expect(new Set(won.map(({ text }) => text)).size).toBe(1);
      return 7;
    },
  }),
  'one key, other stakes': async () => ({
    request: (i) => stakeOf(1 + i, 'many-bodies'),
    statuses: { 201: 1, 422: RUNNERS - 1 },
    spent: ([won]) => won!.json['amount']!,
  }),
};

export const races = Object.entries(RACES).map(([name, prepare]) => ({
  name: `${RUNNERS} connections at once: ${name}`,
  attack: async (stage: Stage) => {
    const user = await stage.register();
    const { request, statuses, spent } = await prepare(stage, user);
    const before = await stage.availableOf(user);
    const clients = Array.from({ length: RUNNERS }, () => new Client(stage));
    await Promise.all(clients.map((client) => client.ask({ path: '/health' })));
    const sending = clients.map((client, i) => {
      const fields = request(i);
      return client.ask({ ...fields, headers: { 'x-user-token': user.token, ...fields.headers } });
    });
    const answers = await Promise.all(sending);
    for (const client of clients) client.close();
    const counts: Record<number, number> = {};
    for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
    expect(counts, answers.at(-1)!.text).toEqual(statuses);
    const less = before - (await stage.availableOf(user));
    expect(less).toBeCloseTo(spent(answers.filter(({ status }) => status < 300)), 6);
    return `answers by status: ${JSON.stringify(counts)}`;
  },
}));
