/** Prices for a browser to watch: most of one window, at real time, whenever the test runs. */
import { writeFile } from 'node:fs/promises';
import { WINDOW_START_MS } from '../../support/server.js';

const FROM_MS = WINDOW_START_MS + 60_000;
const FOR_MS = 13 * 60_000;
const EVERY_MS = 250;

/** Writes a price file that begins a minute after the window does, so there is a market at once. */
export async function writePrices(path: string): Promise<void> {
  const lines = ['observedAtMs,asset,price'];
  for (let ms = 0; ms < FOR_MS; ms += EVERY_MS) {
    const price = 100_000 + 40 * Math.sin(ms / 9_000) + 15 * Math.sin(ms / 1_300);
    lines.push(`${FROM_MS + ms},BTC,${price.toFixed(2)}`);
  }
  await writeFile(path, `${lines.join('\n')}\n`);
}
