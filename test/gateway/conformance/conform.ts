/** Sends the rows over every transport at a place, and compares what clients are told. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { OPERATIONS } from '../../../gateway/resources/orders/operations.js';
import { MARKET, only, rates, type Trader } from '../../support/server.js';
import { streamLimits } from '../stream/support.js';
import { PLACES, type Place } from './places.js';
import { type Made, ROWS, type Row, type Who } from './rows.js';
import { closeStreams, type Operation, type Told, TRANSPORTS } from './transports.js';

const LIMIT = 1_000_000;
const all = { user: only(LIMIT), address: only(LIMIT) };

export function conform(name: keyof typeof PLACES): void {
  let place: Place;
  let ada: Trader;
  let tokens: Record<Who, string | undefined>;
  beforeAll(async () => {
    const fairUse = rates({ orders: all, cancels: all });
    const overload = { backlogCommands: 1e6, backlogBytes: 1e9, stallMs: 1e6, waitingAnswers: 1e6 };
    const stream = streamLimits({ operationsBurst: 100_000 });
    place = await PLACES[name]({ fairUse, overload, ...stream });
    const { leader } = place;
    ada = await leader.register('ada');
    const bob = await leader.register('bob');
    const resting = { outcome: 'DOWN', shares: 5, price: 0.3, timeInForce: 'GTC' };
    expect((await leader.buy(bob, resting)).status).toBe(200);
    await leader.api.post(`/markets/15m/${MARKET}/split`, { shares: 50 }, ada.token);
    const create = async (body: object) => {
      const { json } = await leader.api.post('/auth/tokens', { name: 'x', ...body }, ada.token);
      return json;
    };
    const revoked = await create({ scope: 'trade' });
    await leader.api.delete(`/auth/tokens/${revoked.tokenId}`, ada.token);
    tokens = {
      ada: ada.token,
      reader: (await create({ scope: 'read' })).token,
      elsewhere: (await create({ scope: 'trade', allowedAddresses: ['192.0.2.1'] })).token,
      revoked: revoked.token,
      forged: 'x.y.z',
      nobody: undefined,
    };
  });
  afterAll(async () => {
    await closeStreams();
    await place?.stop();
  });

  /** What is left of a quota, for the user or the address; asking costs 1 and executes nothing. */
  async function left(quota: Row['quota'], token: string | undefined): Promise<number> {
    const { api } = place.leader;
    const path = '/markets/15m/x/orders';
    const { headers } =
      quota === 'cancels'
        ? await api.send('DELETE', path, [], { token })
        : await api.post('/vaults/flex/stake', {}, token);
    return Number(headers['ratelimit-remaining']);
  }

  async function make(): Promise<Made> {
    const clientOrderId = `made-${++made}`;
    const order = { outcome: 'UP', shares: 10, price: 0.1, timeInForce: 'GTC', clientOrderId };
    const { json } = await place.leader.buy(ada, order);
    return { orderId: json.orderId, clientOrderId };
  }

  /** Restores the state for the next transport. */
  async function undo({ op }: Operation): Promise<void> {
    const { api } = place.leader;
    const back = op === 'split' ? 'merge' : op === 'merge' ? 'split' : null;
    await api.delete('/users/me/orders', ada.token);
    if (back !== null) await api.post(`/markets/15m/${MARKET}/${back}`, { shares: 2 }, ada.token);
  }

  interface Seen {
    told: Told;
    cost: number;
    journal: number;
    isUnchanged: boolean;
  }

  async function send(row: Row, transport: (typeof TRANSPORTS)[string]): Promise<Seen> {
    const { engine } = place.leader.exchange.sequencer;
    const operation =
      typeof row.operation === 'function' ? row.operation(await make()) : row.operation;
    if (row.makes && typeof row.operation !== 'function') await make();
    const quota = row.quota ?? (operation.op.startsWith('cancel') ? 'cancels' : 'orders');
    const token = tokens[row.who ?? 'ada'];
    const paysAsUser = row.who === undefined || ['ada', 'reader', 'elsewhere'].includes(row.who);
    const payer = paysAsUser ? ada.token : undefined;
    const own = () => JSON.stringify([engine.account(1), engine.orders(1)]);
    const account = own();
    const leftBefore = await left(quota, payer);
    const { sequence } = engine;
    const told = await transport(place, { token, operation, padding: row.padding });
    const journal = engine.sequence - sequence;
    const cost = leftBefore - (await left(quota, payer)) - 1;
    const isUnchanged = own() === account;
    if (row.code === undefined) await undo(operation);
    return { told, cost, journal, isUnchanged };
  }

  const rows = ROWS.map((row, i) => [`${i} ${row.name}`, row] as const);
  describe.each(Object.entries(TRANSPORTS))('%s', (way, transport) => {
    const isStream = way.includes('stream');
    test.each(rows)('%s', async (_name, row) => {
      const { told, cost, journal, isUnchanged } = await send(row, transport);
      expect([told.code, told.message]).toEqual([row.code, row.code && expect.any(String)]);
      if (row.details !== undefined) expect(told.details).toMatchObject(row.details);
      if (row.receipt !== undefined) expect(told.receipt).toMatchObject(row.receipt);
      const isRefused = row.code !== undefined;
      const isOfReplica = name === 'replica' && row.journal === 0;
      const isFree = isStream && (row.atHandshake === true || isOfReplica);
      expect({ cost, journal }).toEqual({
        cost: isFree ? 0 : (row.cost ?? 1),
        journal: row.journal ?? 1,
      });
      if (isRefused) expect(isUnchanged).toBe(true);
    });
  });
  test('every operation has rows that execute it and rows that refuse it', () => {
    const opOf = ({ operation }: Row) =>
      (typeof operation === 'function' ? operation({ orderId: '', clientOrderId: '' }) : operation)
        .op;
    const executed = ROWS.filter(({ code }) => code === undefined).map(opOf);
    const refused = ROWS.filter(({ code }) => code !== undefined).map(opOf);
    const names = Object.keys(OPERATIONS).sort();
    expect([...new Set(refused)].sort()).toEqual(names);
    expect([...new Set(executed)].sort()).toEqual(names.filter((op) => op !== 'claim'));
  });
}

let made = 0;
