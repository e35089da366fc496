/** The chart's points. Tests the model without a browser. */
import { expect, test } from 'vitest';
import { openPage } from './page.js';

openPage(() => ({}));
const { chartPoints, observePrice, showPricesOf } = await import(
  '../../../../gateway/site/app/model/prices.js'
);

test("live points are as far apart as the history's, and the last is the newest price", () => {
  // The page draws between frames, which a test has none of.
  globalThis.requestAnimationFrame = () => 0;
  showPricesOf('BTC');
  for (let second = 0; second <= 17; second++) observePrice('BTC', 100 + second, second * 1_000);
  expect(chartPoints().map(({ atMs }) => atMs / 1_000)).toEqual([0, 5, 10, 15, 17]);
  expect(chartPoints().at(-1)?.value).toBe(117);
});
