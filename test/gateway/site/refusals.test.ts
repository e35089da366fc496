/**
 * Every refusal is a sentence beside the field that caused it, and the page continues. The test
 * sets the clock and the prices.
 */
import { beforeAll, expect, test } from 'vitest';
import { MARKET, PASSWORD, type Trader } from '../../support/server.js';
import { openSite, page, server, Visitor, visitor } from './browser.js';

openSite({ startingBalanceMicros: 1_000_000_000 });
let maker: Trader;
beforeAll(async () => {
  maker = await server.register('maker');
});

/** The text beside a field, once it is there. */
async function problem(field: string): Promise<string> {
  const found = page.locator(`#${field}-problem`);
  await expect.poll(() => found.textContent()).not.toBe('');
  return (await found.textContent())!;
}

const BUY = `/markets/15m/${MARKET}/buy`;

/** `outcome` is what the maker buys, which offers the other outcome. */
async function rest(outcome: 'UP' | 'DOWN', shares: number, price: number): Promise<void> {
  const body = { outcome, shares, price, timeInForce: 'GTC' };
  expect((await server.api.post(BUY, body, maker.token)).status).toBe(200);
}

test('registration', async () => {
  await page.getByRole('button', { name: 'Sign up', exact: true }).click();
  const submit = page.getByRole('button', { name: 'Create account' });
  await submit.click();
  expect(await problem('username')).toBe(
    'The username must be 3 to 20 characters of A-Z a-z 0-9 _ -.',
  );
  expect(await problem('password')).toBe('The password must have at least 8 characters.');
  await visitor.isAccessible('registration, refused');
  await page.getByLabel('Username').fill('MAKER');
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
  await submit.click();
  expect(await problem('username')).toBe('The username is taken. Choose another.');
  await page.getByLabel('Username').fill('ada');
  await page.getByLabel(/Referral code/).fill('NOBODY-HAS-IT');
  await submit.click();
  expect(await problem('referralCode')).toContain('is not the referral code of a user');
  await page.getByLabel(/Referral code/).fill('');
  await submit.click();
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
  const guide = page.getByRole('region', { name: 'Your first trade' });
  await guide.waitFor();
  await visitor.isAccessibleInEveryForm('the guide');
  await guide.getByRole('button', { name: 'Skip' }).click();
  await expect.poll(() => guide.count()).toBe(0);
  await page.reload();
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
  expect(await guide.count()).toBe(0);
});

test('signing in', async () => {
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('button', { name: 'Sign in' }).first().click();
  await page.getByLabel('Username').fill('ada');
  await page.getByLabel('Password', { exact: true }).fill('not the password');
  const submit = page.locator('dialog').getByRole('button', { name: 'Sign in' });
  await submit.click();
  expect(await problem('password')).toBe('The username or password is wrong.');
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
  await submit.click();
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
});

test('what is typed into the ticket', async () => {
  await page.getByLabel('Skip confirmation').check();
  const size = page.locator('#size');
  for (const typed of ['', 'ten', '-5', '0', '1.0000001', '1e3', '12,50']) {
    await size.fill(typed);
    await page.getByRole('button', { name: 'Buy UP' }).click();
    expect(await problem('size'), typed).toContain('Enter an amount of dollars');
  }
  await page.getByRole('button', { name: 'Limit' }).click();
  await size.fill('10');
  for (const typed of ['', '0', '0.55', '100', '54.35', 'half']) {
    await page.locator('#price').fill(typed);
    await page.getByRole('button', { name: 'Buy UP' }).click();
    expect(await problem('price'), typed).toContain('Enter a price in cents from 0.1¢ to 99.9¢');
  }
  await page.getByRole('button', { name: 'Market', exact: true }).click();
  // In a country of decimal commas, 12.500 is asked about as it is typed.
  const german = await Visitor.open(page.context().browser()!, server.exchange.address, {
    locale: 'de-DE',
  });
  await german.page.locator('#size').fill('12.500');
  await german.page.getByText('12.500 can mean 12.5 or 12500. Write one of these.').waitFor();
  await german.page.locator('#size').fill('12,5');
  await expect.poll(() => german.page.locator('#size-problem').textContent()).toBe('');
  await german.close();
});

test('what cannot be done', async () => {
  const size = page.locator('#size');
  const buy = page.getByRole('button', { name: 'Buy UP' });
  await size.fill('10');
  await buy.click();
  expect(await problem('size')).toContain('no order on the other side');

  await rest('DOWN', 100, 0.4);
  await page.locator('.book .offer:enabled').waitFor();
  await size.fill('0.0001');
  await buy.click();
  expect(await problem('size')).toBe('This does not buy the smallest part of a share, 0.001.');
  await size.fill('5000');
  await buy.click();
  expect(await problem('size')).toContain('needs $5,025.00 with the fee, but $1,000.00');
  await visitor.isAccessible('an order that was refused');

  // A level of the book sets the price.
  await page.locator('.book .offer:enabled').click();
  expect(await page.locator('#price').inputValue()).toBe('60');
  await size.fill('10');
  await page.getByLabel(/^Post only/).check();
  await buy.click();
  expect(await problem('postOnly')).toContain('would trade immediately');
  await page.getByLabel(/^Post only/).uncheck();
  await page.getByLabel('Time in force').selectOption('FOK');
  await size.fill('100');
  await buy.click();
  expect(await problem('price')).toContain('cannot be filled completely at its price');
  expect(await problem('price')).toContain('100 shares could be filled');

  await page.getByRole('button', { name: 'Sell', exact: true }).click();
  await page.getByLabel('Time in force').selectOption('GTC');
  await page.locator('#price').fill('90');
  await size.fill('3');
  await page.getByRole('button', { name: 'Sell UP' }).click();
  expect(await problem('size')).toBe('You have 0 UP to sell.');
  expect(await page.locator('.ticket > .forecast .strong').count()).toBe(0);
  // Another asset has another ticket.
  await page.getByRole('link', { name: 'ETH', exact: true }).click();
  await expect.poll(() => size.inputValue()).toBe('');
  expect(await page.locator('#size-problem').textContent()).toBe('');
  await page.getByRole('link', { name: 'BTC', exact: true }).click();
  await page.getByRole('button', { name: 'Buy', exact: true }).click();
});

test('an order fills to the micro-dollar that the ticket foretold, rests, and is cancelled', async () => {
  await page.getByRole('button', { name: 'Market', exact: true }).click();
  await page.locator('#size').fill('12.345678');
  const foretold = page.locator('.ticket > .forecast');
  const total = foretold.locator('.strong dd span');
  const foretoldExactly = await total.getAttribute('title');
  expect(await total.textContent()).toBe('$12.41');
  await page.getByRole('button', { name: 'Buy UP' }).click();
  await page.locator('.receipt .confirmed').waitFor();
  const paid = page.locator('.receipt dd span').first();
  expect(await paid.getAttribute('title')).toBe(foretoldExactly);
  // $12.345678 at 0.6 buys 20.576 shares, and the fee is on the whole amount.
  expect(foretoldExactly).toBe('$12.407329');
  // The maker offers shares without bidding, so their value is unknown.
  await page.getByText('No bids', { exact: true }).waitFor();

  await page.getByRole('button', { name: 'Limit', exact: true }).click();
  await page.locator('#price').fill('25');
  await page.locator('#size').fill('5');
  await page.getByText('Held until it fills, no fee').waitFor();
  await page.getByRole('button', { name: 'Buy UP' }).click();
  await page.getByText('Open order: buy UP').waitFor();
  await visitor.isAccessible('an order that rests');
  const cancel = page.getByRole('button', { name: 'Cancel: buy UP at 25¢' });
  await cancel.click();
  await expect.poll(() => cancel.count()).toBe(0);
});

test('a double click does not confirm, and a part that fills is said to be one', async () => {
  await page.getByLabel('Skip confirmation').uncheck();
  await page.getByRole('button', { name: 'Market', exact: true }).click();
  await page.locator('#size').fill('500');
  // The value left of 100 shares at 0.6.
  await page.getByText('Only $47.65 of $500.00 can fill now.').waitFor();
  await page.getByRole('button', { name: 'Buy UP' }).dblclick();
  const confirm = page.getByRole('button', { name: 'Confirm: $47.89 for 79.424 UP' });
  await confirm.waitFor();
  await visitor.isAccessible('an order that is to be confirmed');
  // On a busy machine, axe takes longer than a confirmation lasts.
  if ((await confirm.count()) === 0) await page.getByRole('button', { name: 'Buy UP' }).click();
  await confirm.press('Enter');
  await page.getByText('Only $47.65 of $500.00 filled.').waitFor();
  // All of the 100 shares at 0.6, as received or read by the page.
  const volume = page.locator('[data-figure=volume]');
  await expect.poll(() => volume.textContent()).toBe('$60.00');
  await page.reload();
  await expect.poll(() => volume.textContent()).toBe('$60.00');
});

test('a price that moves is told, and the order is asked for again', async () => {
  const offer = { outcome: 'DOWN', shares: 50, price: 0.5, timeInForce: 'GTC' };
  const { json: near } = await server.api.post(BUY, offer, maker.token);
  await rest('DOWN', 50, 0.3);
  await page.getByRole('button', { name: 'offer at 50¢' }).waitFor();
  await page.locator('#size').fill('10');
  const buy = page.getByRole('button', { name: 'Buy UP' });
  await buy.click();
  const confirm = page.getByRole('button', { name: /^Confirm/ });
  await confirm.waitFor();
  const path = `/markets/15m/${MARKET}/orders/${near.orderId}`;
  await server.api.send('DELETE', path, undefined, { token: maker.token });
  await page.getByText('The price moved from 50¢ to 70¢. Nothing was sent.').waitFor();
  expect(await confirm.count()).toBe(0);
  await buy.press('Enter');
  // The limit is the worst price quoted, plus 2 cents, and follows a better one.
  await confirm.waitFor();
  await rest('DOWN', 50, 0.36);
  await page.getByRole('button', { name: 'offer at 64¢' }).waitFor();
  const sent = page.waitForRequest(`**${BUY}`);
  await confirm.press('Enter');
  expect((await sent).postDataJSON()).toMatchObject({ price: 0.66, timeInForce: 'IOC' });
  await page.getByText(/^Bought 15\.625 UP/).waitFor();
});

test('staking, the referral code and the password', async () => {
  await visitor.view('account/vault');
  await page.getByLabel('Amount in dollars').fill('2,50');
  await page.getByRole('button', { name: 'Stake' }).click();
  expect(await problem('amount')).toContain('Enter an amount of dollars');
  await page.getByLabel('Amount in dollars').fill('0.1');
  await page.getByRole('button', { name: 'Stake' }).click();
  expect(await problem('amount')).toMatch(/^The amount must be at least/);
  await page.getByLabel('Amount in dollars').fill('4000');
  await page.getByRole('button', { name: 'Stake' }).click();
  expect(await problem('amount')).toContain('is available');
  await visitor.isAccessible('a stake that was refused');
  await page.getByLabel('Amount in dollars').fill('10');
  // The answer is held back until a second attempt. The button moves when the problem disappears.
  let release = () => {};
  const sent = new Promise<void>((resolve) => (release = resolve));
  let stakes = 0;
  await page.route('**/vaults/flex/stake', async (route) => {
    stakes++;
    await sent;
    await route.continue();
  });
  for (let i = 0; i < 2; i++) await page.getByLabel('Amount in dollars').press('Enter');
  release();
  await page.getByRole('button', { name: /^Unstake / }).click();
  expect(stakes).toBe(1);
  await page.getByText('$10.00 unstaked, with $0.00 of yield.').waitFor();

  const { json } = await server.api.get(`/users/${maker.userId}/referral`, maker.token);
  await visitor.view('account/referral');
  await page.getByLabel('New code').fill(json.code);
  await page.getByRole('button', { name: 'Change code' }).click();
  expect(await problem('code')).toBe('The referral code is taken. Choose another.');
  await page.getByLabel('New code').fill('A!');
  await page.getByRole('button', { name: 'Change code' }).click();
  expect(await problem('code')).toMatch(/^The code must/);

  await visitor.view('account/settings');
  await page.getByLabel('Current password').fill('wrong');
  await page.getByLabel('New password').fill('another horse battery');
  await page.getByRole('button', { name: 'Change password' }).click();
  expect(await problem('currentPassword')).toBe('The current password is wrong.');
  await page.getByLabel('Current password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Change password' }).click();
  await page.getByText('Password changed.').waitFor();
  // The page continues with its new session.
  await visitor.view('account');
  const available = page.locator('[data-figure=available]');
  await expect.poll(() => available.textContent()).toMatch(/^\$9\d\d\./);
});
