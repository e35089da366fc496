/** Lists as JSON or, on request, as CSV (RFC 4180), whose Link header names the next page. */
import type { Engine } from '../../engine/engine.js';
import { answerEncoded } from '../http/answers/encoded-answer.js';
import { JSON_TYPE } from '../http/answers/response-head.js';
import type { Call } from '../http/call.js';
import type { Writer } from '../json/writer.js';
import { type PageEnd, pageText } from './paging.js';

const CSV_TYPE = 'text/csv; charset=utf-8; header=present';
/** Default first. */
export const LIST_TYPES = [JSON_TYPE, CSV_TYPE];

export interface Listing<Entry extends object> {
  name: string;
  entry: Writer<Entry, Engine>;
  /** Columns of the CSV. By default the entry's fields, plus the currency if there is money. */
  line?: Writer<Entry, Engine>;
}

/** `path` is relative to /api. */
export function answerList<Entry extends object>(
  call: Call,
  list: Listing<Entry>,
  path: string,
  entries: readonly Entry[],
  end: PageEnd,
): void {
  const { sequence, nextCursor } = end;
  call.addHeader('Vary', 'Accept');
  if (!prefersCsv(call.request.accept)) {
    const texts = entries.map((entry) => list.entry.text(entry, call.engine));
    answerEncoded(call, sequence, pageText(list.name, texts, end));
    return;
  }
  call.produce(CSV_TYPE);
  if (nextCursor !== null) {
    const query = new URLSearchParams(call.request.rawQuery);
    query.set('cursor', nextCursor);
    call.addHeader('Link', `</api${path}?${query}>; rel="next"`);
  }
  answerEncoded(call, sequence, csvText(list, entries, call.engine));
}

/** Each time also gets a column in UTC, for spreadsheets. No value needs quotes. */
export function csvText<Entry extends object>(
  { entry, line = entry }: Pick<Listing<Entry>, 'entry' | 'line'>,
  entries: readonly Entry[],
  names: Engine,
): string {
  const isTime = (name: string) => name.endsWith('tMs');
  const withCurrency = line.names.includes('currency') ? [] : ['currency'];
  const head = line.names.flatMap((name) =>
    isTime(name) ? [name, name.replace(/Ms$/, 'Utc')] : name,
  );
  const rows = entries.map((each) => {
    const texts = line.texts(each, names);
    const values = texts.map((text) => (text === 'null' ? '' : text.replaceAll('"', '')));
    const cells = values.flatMap((value, i) =>
      isTime(line.names[i]!) ? [value, dateText(value)] : value,
    );
    return [...cells, ...withCurrency.map(() => 'USD')];
  });
  return [[...head, ...withCurrency], ...rows].map((cells) => `${cells.join(',')}\r\n`).join('');
}

function dateText(atMs: string): string {
  return atMs === '' ? '' : new Date(Number(atMs)).toISOString().slice(0, 19).replace('T', ' ');
}

/** The default is JSON. */
function prefersCsv(accept: string): boolean {
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
