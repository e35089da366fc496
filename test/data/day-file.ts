/** A day of real prices of BTC, as a price file. */
import { fileURLToPath } from 'node:url';

export const DAY_FILE = fileURLToPath(new URL('./btc-usd-2023-03-10.csv', import.meta.url));
