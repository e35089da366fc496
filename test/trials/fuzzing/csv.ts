/**
 * Lists as CSV: a strict reader finds the same values as in JSON, also in the file that the site
 * assembles from pages.
 */
import { parse } from 'csv-parse/sync';
import type { Engine } from '../../../engine/engine.js';
import {
  marketIdOf,
  type Outcome,
  type SelfTrade,
  type Side,
} from '../../../engine/interface/domain.js';
import { Api } from '../../../gateway/client/index.js';
import { CANCEL_REASONS } from '../../../gateway/json/cancel-reasons.js';
import { ledger, orders } from '../../../gateway/resources/account-history/views.js';
import { csvText, type Listing } from '../../../gateway/resources/csv.js';
import { clientOrderId } from '../../../gateway/resources/orders/fields.js';
import { readStatement } from '../../../gateway/site/app/account/statement-csv.js';
import { CAUSES } from '../../../persistence/history/account/changes.js';
import type { LedgerLine } from '../../../persistence/history/account/ledger.js';
import type { OrderRecord, OrderState } from '../../../persistence/history/account/orders.js';
import type { Target } from './fuzz.js';

const assets = {
  assetSymbol: () => 'BTC',
  findAsset: () => 0,
  transferMadeAt: (sequence: number) => ({ partner: 'acme', reference: `-${sequence}` }),
} as unknown as Engine;
const MARKET = marketIdOf(0, 1_763_700_300_000);
const REASONS = Object.keys(CANCEL_REASONS).map(Number);
const MOST_ENTRIES = 5;
const PAGE_ENTRIES = 2;

/** `of(i, most)`: the i-th integer; from 0 to below `most` if given. */
type Numbers = (i: number, most?: number) => number;

function ledgerLine(of: Numbers): LedgerLine {
  const [availableMicros, heldMicros] = [of(0), of(1)];
  return {
    userId: 1,
    position: 1,
    sequence: of(2, 2 ** 53),
    atMs: of(3, 2 ** 43),
    cause: CAUSES[of(4, CAUSES.length)]!,
    marketId: of(5, 2) * MARKET,
    orderId: of(6, 3),
    tradeId: of(7, 3),
    depositId: of(8, 3),
    otherId: of(0, 2),
    availableMicros,
    heldMicros,
    shares: of(4, 2) === 0 ? null : { outcome: of(5, 2) as Outcome, lots: of(6) },
    balance: { availableMicros: heldMicros, heldMicros: availableMicros },
  };
}

function orderRecord(of: Numbers, name: string | null): OrderRecord {
  return {
    orderId: of(0, 2 ** 53),
    clientOrderId: name,
    marketId: MARKET,
    userId: 1,
    side: of(1, 2) as Side,
    outcome: of(2, 2) as Outcome,
    priceTicks: of(3, 1_000),
    timeInForce: of(4, 3),
    postOnly: of(5, 2) === 0,
    selfTrade: of(6, 3) as SelfTrade,
    groupId: of(7, 3),
    expiresAtMs: of(8, 2) === 0 ? null : of(8, 2 ** 43),
    amountMicros: of(0, 2) === 0 ? null : of(0, 2 ** 40),
    originalLots: of(0, 2 ** 40),
    filledLots: of(1, 2 ** 40),
    restingLots: of(2, 2 ** 40),
    aheadLots: of(2, 2) === 0 ? null : of(1, 2 ** 40),
    valueMicros: of(3, 2 ** 50),
    feeMicros: of(4, 2 ** 40),
    end: of(5, 6) as OrderState,
    reason: REASONS[of(6, REASONS.length)]!,
    placedAtMs: of(7, 2 ** 43),
    closedAtMs: of(8, 2) === 0 ? null : of(8, 2 ** 43),
  };
}

/** The cells of a JSON entry: numbers as their text, null as empty. */
function cellsOf(entry: string): string[] {
  const text = (_: string, value: unknown, context?: { source: string }) =>
    typeof value === 'number' ? context!.source : value;
  const read = JSON.parse(entry, text) as Record<string, object | null>;
  // Each field of a statement's inner object has a column.
  const cells: unknown[] = Object.entries(read).flatMap(([field, value]): unknown[] => {
    if (field.endsWith('tMs')) return [value, dateOf(value)];
    if (field === 'reference') return [value, 'USD'];
    if (field === 'shares' && value === null && 'balance' in read) return [null, null];
    return value !== null && typeof value === 'object' ? Object.values(value) : [value];
  });
  if (!('reference' in read)) cells.push('USD');
  return cells.map((cell) => (cell === null ? '' : `${cell}`));
}

function dateOf(atMs: unknown): string | null {
  if (atMs === null) return null;
  const [day, time] = new Date(Number(atMs)).toJSON().split('T');
  return `${day} ${time!.slice(0, 8)}`;
}

function compare<Entry extends object>(
  list: Listing<Entry>,
  text: string,
  entries: readonly Entry[],
): void {
  const [head, ...rows] = parse(text, { record_delimiter: '\r\n' }) as string[][];
  const cells = entries.map((entry) => cellsOf(list.entry.text(entry, assets)));
  const expected = JSON.stringify(cells);
  if (head === undefined || JSON.stringify(rows) !== expected)
    throw new Error(`${list.name}: ${text} is not ${expected}`);
}

/** The CSV as the site assembles it, page by page. */
async function joined(entries: readonly LedgerLine[]): Promise<string> {
  const fetch = async (address: unknown) => {
    const from = Number(new URL(`${address}`).searchParams.get('cursor'));
    const to = from + PAGE_ENTRIES;
    const page = csvText(ledger, entries.slice(from, to), assets);
    const link = `</api/users/u1/ledger?limit=200&cursor=${to}>; rel="next"`;
    return new Response(page, to < entries.length ? { headers: { link } } : {});
  };
  let count = 0;
  const api = new Api({ url: 'http://exchange/api', fetch });
  const parts = await readStatement(api, 'u1', {}, (read) => {
    count = read;
  });
  if (count !== entries.length) throw new Error(`${count} entries of ${entries.length}`);
  return parts.join('');
}

/** Each line of the input becomes an entry: a name of an order, a number, or both. */
export const csv: Target = {
  name: 'CSV of answers',
  seeds: [
    'a:1_b-2.c\n0\n1\n2500000\n-2500001',
    '1763700301000\n9007199254740991\n10',
    '-1\n00\n1e3\n_.\n-:',
  ].map((text) => Buffer.from(text)),
  async check(input) {
    const texts = input.toString('utf8').split('\n').slice(0, MOST_ENTRIES);
    const numbers = texts.map(Number).map((each) => (Number.isSafeInteger(each) ? each : 0));
    const from =
      (first: number): Numbers =>
      (i, most) => {
        const number = numbers[(first + i) % numbers.length]!;
        // Adding 0 turns -0 into 0.
        return most === undefined ? number + 0 : Math.abs(number) % most;
      };
    const names = texts.map((text) => clientOrderId.schema.safeParse(text).data ?? null);
    const records = names.map((name, i) => orderRecord(from(i), name));
    compare(orders, csvText(orders, records, assets), records);
    const lines = names.map((_, i) => ledgerLine(from(i)));
    compare(ledger, await joined(lines), lines);
  },
};
