/** Statements as CSV (RFC 4180): a head, and a line for each entry, in the order of the page. */
import {
  type Assets,
  lotsText,
  marketIdText,
  microsText,
  outcomeName,
} from '../../../engine/interface/notation.js';
import type { LedgerLine } from '../../../persistence/history/account/ledger.js';

export const CSV_TYPE = 'text/csv; charset=utf-8; header=present';

const COLUMNS = [
  'sequence',
  'atMs',
  'cause',
  'marketId',
  'orderId',
  'tradeId',
  'depositId',
  'available',
  'held',
  'outcome',
  'shares',
  'balanceAvailable',
  'balanceHeld',
];

/** No value contains a comma, a quote or a line break, so none is quoted. */
export function ledgerCsv(assets: Assets, lines: readonly LedgerLine[]): string {
  return [COLUMNS, ...lines.map((line) => valuesOf(assets, line))]
    .map((values) => `${values.join(',')}\r\n`)
    .join('');
}

function valuesOf(assets: Assets, line: LedgerLine): (string | number)[] {
  const { sequence, atMs, cause, marketId, shares, balance } = line;
  return [
    sequence,
    atMs,
    cause,
    marketId === 0 ? '' : marketIdText(assets, marketId),
    idText('o', line.orderId),
    idText('t', line.tradeId),
    idText('d', line.depositId),
    microsText(line.availableMicros),
    microsText(line.heldMicros),
    shares === null ? '' : outcomeName(shares.outcome),
    shares === null ? '' : lotsText(shares.lots),
    microsText(balance.availableMicros),
    microsText(balance.heldMicros),
  ];
}

function idText(letter: string, id: number): string {
  return id === 0 ? '' : `${letter}${id}`;
}

/** Whether the header Accept prefers CSV to JSON. Without a preference the answer is JSON. */
export function prefersCsv(accept: string): boolean {
  if (accept === '') return false;
  let [csv, json] = [0, 0];
  for (const part of accept.toLowerCase().split(',')) {
    const [type, ...parameters] = part.split(';').map((text) => text.trim());
    const weight = parameters.find((parameter) => parameter.startsWith('q='));
    const quality = weight === undefined ? 1 : Number(weight.slice(2));
    if (type === 'text/csv') csv = Math.max(csv, quality);
    else if (type === 'application/json') json = Math.max(json, quality);
  }
  return csv > json;
}
