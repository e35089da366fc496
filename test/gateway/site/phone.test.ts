/** On a phone, the ticket is a sheet of one height, and fingers hit every target. */
import { expect, test } from 'vitest';
import { openSite, page, server, Visitor } from './browser.js';

openSite();

/** Targets under 44 px, except the book's rows and links within sentences. */
const SMALL = `[...document.querySelectorAll('button, a, select, summary, .check')]
  .filter((each) => each.checkVisibility() && !each.matches('.book *, .skip, p a, p .link, dd a'))
  .map((each) => [each, each.getBoundingClientRect()])
  .filter(([, { width, height }]) => height < 43.9 || width < 24)
  .map(([each, { width, height }]) => each.outerHTML.slice(0, 90) + width + 'x' + height)`;

test('the sheet holds question and clock, keeps its height, and all targets are large', async () => {
  const maker = await server.register('maker');
  await server.buy(maker, { outcome: 'DOWN', shares: 1_000, price: 0.002, timeInForce: 'GTC' });
  const phone = { viewport: { width: 320, height: 700 }, hasTouch: true, isMobile: true };
  const visitor = await Visitor.open(page.context().browser()!, server.exchange.address, phone);
  const { page: small } = visitor;
  const targets = async (state: string) => {
    expect(await small.evaluate(SMALL), state).toEqual([]);
    await visitor.fitsPhone(state);
  };
  await small.locator('.slots a').first().waitFor();
  await targets('the market');
  await small.getByRole('button', { name: 'Sign up', exact: true }).click();
  await small.locator('#username:focus').waitFor();
  await targets('signing up');
  await small.keyboard.press('Escape');
  await small.locator('.answers button').first().click();
  const sheet = small.locator('.ticket-panel');
  await sheet.getByText(/^Will BTC be at or above \$100,000.00 at/).waitFor();
  await sheet.getByText(/^\d\d:\d\d$/).waitFor();
  const height = async () => (await sheet.boundingBox())!.height;
  const before = await height();
  await small.locator('#size').fill('30');
  // UP costs more than it pays, with the fee, until it is offered for less.
  await sheet.getByText('You lose even if UP wins.').waitFor();
  await server.buy(maker, { outcome: 'DOWN', shares: 500, price: 0.45, timeInForce: 'GTC' });
  await sheet.getByText('$54.55', { exact: true }).waitFor();
  await sheet.getByRole('button', { name: 'Limit', exact: true }).click();
  await targets('the sheet');
  expect(await height()).toBe(before);
  await visitor.isAccessible('the sheet', 'layout');
  await visitor.close();
});
