/** Prices for a browser: most of one window, at real time, at any time of day. */
import { writeFile } from 'node:fs/promises';

/** 2025-11-21 04:46 UTC, a minute after a window's start, so a market opens immediately. */
const FROM_MS = 1_763_700_360_000;
const FOR_MS = 13 * 60_000;
const EVERY_MS = 250;

export async function writePrices(path: string): Promise<void> {
  const lines = ['observedAtMs,asset,price'];
  for (let ms = 0; ms < FOR_MS; ms += EVERY_MS) {
    const slow = 60 * Math.sin(ms / 90_000) + 25 * Math.sin(ms / 23_000);
    const price = 100_000 + slow + 8 * Math.sin(ms / 3_100);
    lines.push(`${FROM_MS + ms},BTC,${price.toFixed(2)}`);
  }
  await writeFile(path, `${lines.join('\n')}\n`);
}
