/** Rules that an operator changes during trading: fees, limits, refusals. */
import { afterAll, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.js';
import { lockJournal } from '../../support/journal-fixture.js';
import { MARKET, TestServer } from '../../support/server.js';
import { CONFIG, operatorOf } from './operator.js';

const BECAUSE = { reason: 'half the fee for a week' };

let server = await TestServer.start(CONFIG);
server.feed.deliver('BTC', 100_000);
const ada = await server.register('ada');
const bob = await server.register('bob');
afterAll(() => server.stop());

const operate = operatorOf(() => server);
const setRules = (body: object) => operate('POST', '/operator/rules', { ...BECAUSE, ...body });

/** The fee of a buy of 10 shares at 0.5, which costs 5 dollars. */
async function feeOfBuy(key: string): Promise<number> {
  const order = { shares: 10, price: 0.5, timeInForce: 'GTC' };
  const path = `/markets/15m/${MARKET}/buy`;
  const maker = await server.api.post(path, { ...order, outcome: 'DOWN' }, bob.token);
  expect(maker.status, maker.text).toBe(200);
  const headers = { 'idempotency-key': key };
  const options = { token: ada.token, headers };
  const { status, json, text } = await server.api.send(
    'POST',
    path,
    { ...order, outcome: 'UP' },
    options,
  );
  expect(status, text).toBe(200);
  return json.fee;
}
const limits = async () => (await server.api.get('/limits')).json;
const vaultShare = async () => (await server.api.get('/vaults')).json.vaults[0].feeShare;
const feeRate = async () => (await server.api.get(`/markets/${MARKET}`)).json.feeRate;

test('the fee and the limits change at once, are shown, and are still there after a restart', async () => {
  expect(await feeOfBuy('before')).toBe(0.025);
  const { status, json } = await setRules({ ruleSet: 2, feeRate: 0.0025, openOrders: 2 });
  expect([status, json.sequence > 0]).toEqual([200, true]);
  expect(await feeOfBuy('after')).toBe(0.0125);
  expect(await feeRate()).toBe(0.0025);
  expect(await limits()).toMatchObject({ ruleSet: 2, feeRate: 0.0025, vaultShare: 0.4 });
  // Omitted fields keep their values.
  expect(
    (await setRules({ ruleSet: 2, orderAmount: 4.5, vaultShare: 0.25, restingOrderValue: 4 }))
      .status,
  ).toBe(200);
  const shown = { ruleSet: 2, feeRate: 0.0025, vaultShare: 0.25, restingOrderValue: 4 };
  expect(await limits()).toMatchObject({ ...shown, maxima: { orderAmount: 4.5, openOrders: 2 } });

  expect(await vaultShare()).toBe(0.25);

  const { clock, folder } = server;
  await server.close();
  server = await TestServer.start(CONFIG, folder, clock.nowMs());
  expect(await limits()).toMatchObject({ ...shown, maxima: { orderAmount: 4.5, openOrders: 2 } });
  const path = `/markets/15m/${MARKET}/buy`;
  const order = { outcome: 'UP', shares: 9, price: 0.5, timeInForce: 'GTC' };
  const tooLarge = { ...order, shares: 10 };
  const answers = [tooLarge, order, order, order].map(
    (body) => () => server.api.post(path, body, ada.token),
  );
  const codes: (string | number)[] = [];
  for (const ask of answers) {
    const { status, json } = await ask();
    codes.push(status === 200 ? 200 : json.error.code);
  }
  expect(codes).toEqual(['limit_reached', 200, 200, 'limit_reached']);

  expect((await setRules({ ruleSet: 1 })).status).toBe(200);
  expect(await limits()).toMatchObject({
    ruleSet: 1,
    feeRate: 0.005,
    vaultShare: 0.4,
    maxima: { orderAmount: 1_000_000, openOrders: 1_000 },
  });
  const { json: listed } = await operate('GET', '/operator/actions');
  expect(listed.actions).toHaveLength(3);
  expect(listed.actions[0]).toMatchObject({ action: 'set_rules', operator: 'olga', ...BECAUSE });
  // The first set of rules was set before a restart.
  const values = { vaultShare: 0.25, orderAmount: 4.5, openOrders: 2, restingOrderValue: 4 };
  const none = { curveFeeRate: 0, makerShare: 0 };
  const first = { vaultShare: 0.4, orderAmount: 1_000_000, restingOrderValue: 1, ...none };
  expect(listed.actions.map(({ rules }: { rules: unknown }) => rules)).toEqual([
    { ...first, ruleSet: 1, feeRate: 0.005, openOrders: 1_000 },
    { ruleSet: 2, feeRate: 0.0025, ...values, ...none },
    { ...first, ruleSet: 2, feeRate: 0.0025, openOrders: 2 },
  ]);
});

test.each([
  ['no such set', { ruleSet: 4 }],
  ['a curve in set 2', { ruleSet: 2, curveFeeRate: 0.07 }],
  ['a share of makers that is too high', { ruleSet: 3, makerShare: 0.51 }],
  ['other values than those of set 1', { ruleSet: 1, feeRate: 0.002 }],
  ['a fee that is too high', { ruleSet: 2, feeRate: 0.11 }],
  ['a fee between two steps', { ruleSet: 2, feeRate: 0.00251 }],
  ['a negative share', { ruleSet: 2, vaultShare: -0.1 }],
  ['an unknown field', { ruleSet: 2, makerFeeRate: 0.1 }],
  ['no reason', { ruleSet: 2, reason: '' }],
])('%s is refused and changes nothing', async (_name, body) => {
  const before = await limits();
  const { status, json } = await setRules(body);
  expect([status, json.error.code]).toEqual([400, 'invalid_request']);
  expect(await limits()).toEqual(before);
});

test('a curve and a share of makers: in the receipt, the limits and the statement', async () => {
  const curve = { ruleSet: 3, feeRate: 0.005, curveFeeRate: 0.07, makerShare: 0.25 };
  expect((await setRules(curve)).status).toBe(200);
  expect(await limits()).toMatchObject(curve);
  const { json: market } = await server.api.get(`/markets/${MARKET}`);
  expect(market).toMatchObject({ feeRate: 0.005, curveFeeRate: 0.07, makerFeeRate: 0 });
  expect((await server.api.delete(`/users/${ada.userId}/orders`, ada.token)).status).toBe(200);
  // 0.5% of 5 dollars, and 7% of a half of them.
  expect(await feeOfBuy('on-the-curve')).toBe(0.2);
  // Set 2 has no curve.
  expect((await setRules({ ruleSet: 2 })).status).toBe(200);
  expect(await limits()).toMatchObject({ ruleSet: 2, curveFeeRate: 0, makerShare: 0 });
  expect((await setRules({ ruleSet: 1 })).status).toBe(200);
  for (const ms of [870_000, 32_000]) {
    server.clock.set(server.clock.nowMs() + ms);
    server.feed.deliver('BTC', 100_001);
  }
  await eventually(async () => {
    const path = `/users/${bob.userId}/ledger?cause=maker_share`;
    const { entries } = (await server.api.read(path, bob.token)).json;
    expect(entries).toMatchObject([{ marketId: MARKET, available: 0.05, held: 0 }]);
  });
});

test('new rules are shown to nobody before they are durable', async () => {
  const { engine } = server.exchange.sequencer;
  expect((await setRules({ ruleSet: 1 })).status).toBe(200);
  const before = await limits();
  await server.durable();
  const unlock = await lockJournal(server.folder);
  const asked = setRules({ ruleSet: 2, feeRate: 0.0031 });
  await eventually(() => engine.rules().takerFeeBasisPoints === 31);
  let isDurable = false;
  const shown = limits().then((json) => ({ json, isDurable }));
  // These answers show that the request has had its turn.
  for (let i = 0; i < 5; i++) expect((await server.api.get('/time')).status).toBe(200);
  isDurable = true;
  await unlock();
  expect((await asked).status).toBe(200);
  expect(await shown).toEqual({
    json: { ...before, ruleSet: 2, feeRate: 0.0031 },
    isDurable: true,
  });
});
