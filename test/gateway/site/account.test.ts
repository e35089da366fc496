/** The statement and its file, privacy, named tokens, the dead man's switch, in a real browser. */
import { readFile } from 'node:fs/promises';
import { beforeAll, expect, test } from 'vitest';
import { MARKET, PARTNER_KEYS, PASSWORD } from '../../support/server.js';
import { openSite, page, server, Visitor, visitor } from './browser.js';

openSite({ startingBalanceMicros: 1_000_000_000, partnerKeys: PARTNER_KEYS });
let token: string;
let userId: string;
beforeAll(async () => {
  await visitor.register('ada');
  token = await visitor.token();
  userId = (await server.api.get('/auth/session', token)).json.userId;
});

const rest = (price: number) => {
  const order = { outcome: 'UP', shares: 10, price, timeInForce: 'GTC' };
  return server.api.post(`/markets/15m/${MARKET}/buy`, order, token);
};

test('the statement, its filters, and its file', async () => {
  // 210 entries are more than one page of the file.
  for (let count = 0; count < 105; count++) {
    const { json } = await rest(0.25);
    const path = `/markets/15m/${MARKET}/orders/${json.orderId}`;
    expect((await server.api.send('DELETE', path, undefined, { token })).status).toBe(200);
  }
  await visitor.view('account/statement');
  const statement = page.getByRole('region', { name: 'Statement' }).first();
  const rows = statement.getByRole('row');
  // Each order has one row, which contains its entries.
  await expect.poll(() => rows.count(), { timeout: 20_000 }).toBe(26);
  await rows.nth(1).getByText('Order, 2 entries').click();
  await rows.nth(1).getByText('Released from an open order').waitFor();
  expect(await rows.nth(1).textContent()).toContain('+$2.50');
  expect(await rows.nth(1).textContent()).toContain('$1,000.00');
  await visitor.isAccessible('the statement');

  const started = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download CSV' }).click();
  const file = await readFile(await (await started).path(), 'utf8');
  const lines = file.trimEnd().split('\r\n');
  expect(lines).toHaveLength(212);
  expect(lines.filter((line) => line.startsWith('entryId,'))).toHaveLength(1);
  expect(lines.at(-1)).toContain(',grant,');

  await page.getByLabel('Type').selectOption('Play money at the start');
  await page.getByRole('button', { name: 'Show' }).click();
  await expect.poll(() => rows.count()).toBe(2);
  await page.getByLabel('Market ID').fill('no market');
  await page.getByRole('button', { name: 'Show' }).click();
  const problem = page.locator('#marketId-problem');
  await expect.poll(() => problem.textContent()).toBe('No market has this ID.');
  await page.getByLabel('First day').fill('2026-02-02');
  await page.getByLabel('Last day').fill('2026-02-01');
  await page.getByRole('button', { name: 'Show' }).click();
  await page.getByText('The last day is before the first.').waitFor();
  await visitor.isAccessible('the statement, refused');
});

test('an account is made private, is so for others, and is public again', async () => {
  const privateTo = async () => (await server.api.get(`/users/${userId}/privacy`, token)).json;
  const positionsForAll = async () => (await server.api.read(`/users/${userId}/positions`)).status;
  const toggle = page.getByLabel('Private account');
  const hidden = page.getByText('This account is private.');
  for (const isPrivate of [true, false]) {
    await visitor.view('account/settings');
    expect(await toggle.isChecked()).toBe(!isPrivate);
    await toggle.press('Space');
    await expect.poll(privateTo).toMatchObject({ private: isPrivate });
    expect(await positionsForAll()).toBe(isPrivate ? 401 : 200);
    expect(await toggle.isChecked()).toBe(isPrivate);
    expect(await page.getByLabel('Show me on leaderboards').isDisabled()).toBe(!isPrivate);
    await visitor.isAccessibleInEveryForm(`an account, private: ${isPrivate}`);
    // The user sees their own page as everyone else does.
    await visitor.view(`user/${userId}`);
    await page.getByRole('heading', { name: 'Trading record' }).waitFor();
    expect(await hidden.count()).toBe(isPrivate ? 1 : 0);
    expect(await page.getByRole('heading', { name: 'Trades', exact: true }).count()).toBe(
      isPrivate ? 0 : 1,
    );
    await visitor.isAccessible(`a profile, private: ${isPrivate}`);
  }

  // Unchanged settings are not shown as changed.
  await visitor.view('account/settings');
  await toggle.waitFor();
  await page.route('**/privacy', (route) => route.fulfill({ status: 503, body: '{}' }));
  await toggle.press('Space');
  await page.getByRole('alert').filter({ hasText: /\w/ }).waitFor();
  expect(await toggle.isChecked()).toBe(false);
  await page.unroute('**/privacy');
});

test('automatic payout is chosen at sign-up, and turned off and on', async () => {
  const ofNew = await Visitor.open(page.context().browser()!, server.exchange.address);
  await ofNew.page.getByRole('button', { name: 'Sign up', exact: true }).click();
  await ofNew.page.getByLabel('Pay my winnings automatically').check();
  await ofNew.page.getByLabel('Username').fill('grace');
  await ofNew.page.getByLabel('Password', { exact: true }).fill('correct horse battery');
  await ofNew.page.getByRole('button', { name: 'Create account' }).click();
  await ofNew.page.getByRole('button', { name: 'Sign out' }).waitFor();
  await ofNew.view('account/settings');
  const toggle = ofNew.page.getByLabel('Automatic payout');
  await expect.poll(() => toggle.isChecked()).toBe(true);
  const own = await ofNew.token();
  const enabled = async () => (await server.api.get('/users/me/auto-claim', own)).json.enabled;
  for (const wanted of [false, true]) {
    await toggle.press('Space');
    await expect.poll(enabled).toBe(wanted);
  }
  await ofNew.isAccessible('automatic payout');
  await ofNew.close();
});

test('whoever has little left starts again with play money, once a day', async () => {
  const { userId: id, username, token: own } = await server.registerPoor('poor');
  const poor = await Visitor.open(page.context().browser()!, server.exchange.address);
  await poor.page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await poor.page.getByLabel('Username').fill(username);
  await poor.page.getByLabel('Password', { exact: true }).fill(PASSWORD);
  await poor.page.getByLabel('Password', { exact: true }).press('Enter');
  await poor.page.getByRole('button', { name: 'Sign out' }).waitFor();
  await poor.view('account');
  const button = poor.page.getByRole('button', { name: 'Start again with $1,000', exact: true });
  await button.waitFor();
  await poor.isAccessibleInEveryForm('an account with little left');
  await button.click();
  const available = poor.page.locator('[data-figure=available]');
  await expect.poll(() => available.textContent()).toBe('$1,000.00');
  await expect.poll(() => button.count()).toBe(0);
  const again = await server.api.post(`/users/${id}/start-again`, {}, own);
  expect(again.json.error.code).toBe('too_much_to_start_again');
  expect(again.json.error.message).toContain('no unsettled or unpaid market, resting order or');
  // Not offered to an account that has enough.
  await visitor.view('account');
  await page.locator('[data-figure=total]').waitFor();
  expect(await page.getByText('Start again with').count()).toBe(0);
  await poor.close();
});

test("the site speaks the browser's language, or the one that was chosen", async () => {
  const browser = page.context().browser()!;
  const ofSpain = await Visitor.open(browser, server.exchange.address, { locale: 'es-ES' });
  const spanish = ofSpain.page;
  const language = () => spanish.evaluate('document.documentElement.lang');
  await spanish.getByRole('button', { name: 'Crear cuenta', exact: true }).waitFor();
  expect(await language()).toBe('es');
  await spanish.getByRole('heading', { name: '¿Estará BTC en $100.000,00 o más' }).waitFor();
  await ofSpain.isAccessibleInEveryForm('the market in Spanish');
  await ofSpain.view('rules');
  await spanish.getByText('Qué se negocia').waitFor();
  await spanish.getByRole('button', { name: 'English' }).click();
  await spanish.getByText('What you trade').waitFor();
  expect(await language()).toBe('en');
  await spanish.reload();
  await spanish.getByText('What you trade').waitFor();
  await spanish.getByRole('button', { name: 'Español' }).click();
  await spanish.getByText('Qué se negocia').waitFor();
  await ofSpain.close();
});

test('a token is made, shown once, works, and is revoked', async () => {
  await visitor.view('account/settings');
  const make = page.getByRole('button', { name: 'Create API key' });
  await make.click();
  await page.getByText('The name must be 1 to 64 printable characters').waitFor();
  await page.getByLabel('Name of the key').fill('my bot');
  await page.getByLabel('Allowed IP addresses').fill('somewhere');
  await make.click();
  await page.getByText(/must be an IP address or a CIDR range/).waitFor();
  await visitor.isAccessible('tokens, refused');
  await page.getByLabel('Allowed IP addresses').fill('127.0.0.1, 10.0.0.0/8');
  await make.click();
  const made = (await page.locator('[data-token]').textContent())!;
  await visitor.isAccessible('a token that was made');
  expect((await server.api.get(`/users/${userId}/balance`, made)).status).toBe(200);
  const refused = await server.api.post(`/markets/15m/${MARKET}/buy`, {}, made);
  expect(refused.json.error.code).toBe('scope_insufficient');
  await page.getByRole('button', { name: 'Done' }).click();
  expect(await page.content()).not.toContain(made);
  await page.getByRole('cell', { name: '127.0.0.1, 10.0.0.0/8' }).waitFor();
  await page.getByRole('button', { name: 'Revoke my bot' }).click();
  await page.getByText(/^No API keys yet\./).waitFor();
  const after = await server.api.get(`/users/${userId}/balance`, made);
  expect(after.json.error.code).toBe('token_revoked');
});

test("the dead man's switch is started, and cancels the orders", async () => {
  await rest(0.25);
  await visitor.view('account/settings');
  await page.getByLabel('Cancel all orders after').selectOption('1 minute');
  await page.getByLabel('Restart while this page is open').uncheck();
  await page.getByRole('button', { name: 'Start', exact: true }).click();
  await page.getByText(/^All open orders are cancelled at/).waitFor();
  await page.getByRole('button', { name: 'Turn off' }).click();
  await page.getByText('Not started from this page.').waitFor();
  await page.getByRole('button', { name: 'Start', exact: true }).click();
  await page.getByText(/^All open orders are cancelled at/).waitFor();
  await visitor.isAccessible('the switch, started');
  expect((await server.api.get(`/users/${userId}/orders`, token)).json.orders).toHaveLength(1);
  await server.passTime(server.clock.nowMs() + 60_001, 100_000);
  await expect
    .poll(async () => (await server.api.get(`/users/${userId}/orders`, token)).json.orders)
    .toEqual([]);
});
