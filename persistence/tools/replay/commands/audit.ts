/**
 * `audit`: checks after each batch that money is conserved and every market is covered, and shows
 * where the money of each market went. The engine is compared with books kept from its events alone
 * (books.ts), and runs its own full check at intervals and at the end.
 */
import type { Engine } from '../../../../engine/engine.js';
import { type MarketStatus, Resolution } from '../../../../engine/interface/domain.js';
import { decodeEvents } from '../../../../engine/interface/events.js';
import { resolutionName, statusName } from '../../../../engine/interface/notation.js';
import { ExitStatus } from '../../program.js';
import {
  type Invocation,
  type Replayed,
  replayJournal,
  type Visitor,
} from '../input/replay-journal.js';
import { marketName, type Names } from '../output/fields.js';
import { bookFinding, type Finding, findingText } from '../output/findings.js';
import { type Columns, cellText, type Report, tableOf } from '../output/report.js';
import { fundsObject, fundsTable } from '../output/state.js';
import { COUNT, DOLLARS, dollars, dollarsText, SHARES, timeText } from '../output/units.js';
import { Books, type MarketBook } from '../proofs/books.js';

interface AuditRequest extends Invocation {
  limit: number;
}

/** A full check reads every account and order, which is too slow for each batch. */
const COMMANDS_PER_FULL_CHECK = 10_000;

export class Auditor implements Visitor {
  readonly books = new Books();
  readonly findings: Finding[] = [];
  batchChecks = 0;
  fullChecks = 0;
  private lastFullCheck = 0;

  constructor(private readonly engine: Engine) {}

  applied(): void {
    for (const event of decodeEvents(this.engine.events)) this.books.add(event);
  }

  /** Stops at the first batch with a finding: later batches would only repeat it. */
  proven(): boolean {
    const { sequence } = this.engine;
    this.batchChecks++;
    this.find(this.books.problems(this.engine));
    if (sequence - this.lastFullCheck >= COMMANDS_PER_FULL_CHECK) this.checkEverything();
    return this.findings.length === 0;
  }

  checkEverything(): void {
    this.lastFullCheck = this.engine.sequence;
    this.fullChecks++;
    try {
      this.engine.checkInvariants();
    } catch (error) {
      this.find([(error as Error).message]);
    }
  }

  private find(problems: string[]): void {
    const place = `sequence ${this.engine.sequence} (the end of its batch)`;
    for (const problem of problems) this.findings.push(bookFinding(place, problem));
  }
}

export async function audit(request: AuditRequest): Promise<ExitStatus> {
  const { folder, progress, output } = request;
  const visit = (engine: Engine) => new Auditor(engine);
  const replayed = await replayJournal({ folder, progress, output, visit });
  const auditor = replayed.visitor;
  if (auditor.findings.length === 0) auditor.checkEverything();
  output.report(auditReport(replayed), request.json, request.limit);
  for (const finding of auditor.findings) output.notice(findingText(finding));
  return auditor.findings.length === 0 ? ExitStatus.GOOD : ExitStatus.DAMAGE;
}

function auditReport({ engine, batches, visitor: auditor }: Replayed<Auditor>): Report {
  const { sequence, nowMs: atMs } = engine;
  const { batchChecks, fullChecks, findings } = auditor;
  const [time, digest, funds] = [timeText(atMs), engine.digest(), engine.funds()];
  const treasury = dollars(funds.treasuryMicros);
  const good = findings.length === 0;
  const counts = { batches, batchChecks, fullChecks };
  const rows = [...auditor.books.markets.values()].sort((a, b) => b.marketId - a.marketId);
  const markets = tableOf({
    name: 'markets',
    title: `\nMarkets (${rows.length}), newest first`,
    columns: COLUMNS,
    rows,
    names: engine,
    totals: rows.length > 1 ? totalsOf(rows, engine) : undefined,
  });
  return {
    fields: {
      ...{ good, sequence, atMs, time, digest },
      ...counts,
      ...{ funds: fundsObject(funds), treasury, findings },
    },
    head: `Audit up to sequence ${sequence}, ${time}, digest ${digest}\n\n`,
    tables: [fundsTable(funds, engine), markets],
    foot: `\nProfit of the exchange (its treasury): ${dollarsText(funds.treasuryMicros)}\n${
      good
        ? `After each of ${batches} batches, money was conserved and every market was covered. The engine's full check found nothing (runs: ${fullChecks}).\n`
        : `Findings: ${findings.length}.\n`
    }`,
  };
}

const IDENTITY: Columns<MarketBook> = [
  ['marketId', 'market', (book, names) => marketName(book.marketId, names)],
  ['status', 'status', statusText],
  ['resolution', 'result', (book) => resolutionName(book.resolution)],
  ['startPrice', 'start price', (book) => book.startPriceMicros || null, DOLLARS],
  ['endPrice', 'end price', (book) => (isPriced(book) ? book.endPriceMicros : null), DOLLARS],
];
/** Those in the table have a total. */
const SUMS: Columns<MarketBook> = [
  ['trades', 'trades', (book) => book.trades, COUNT],
  ['volume', 'volume', (book) => book.volumeMicros, DOLLARS],
  ['fees', 'fees', (book) => book.feesMicros, DOLLARS],
  ['feesShared', null, (book) => book.feesShared],
  ['vault', 'vault', (book) => book.vaultMicros, DOLLARS],
  ['referrers', 'referrers', (book) => book.referrersMicros, DOLLARS],
  ['treasury', 'treasury', (book) => book.treasuryMicros, DOLLARS],
  ['refunded', 'refunded', (book) => book.refundedMicros, DOLLARS],
  ['sets', 'sets', (book) => book.setLots, SHARES],
  ['mostSets', null, (book) => book.mostSetLots, SHARES],
  ['claimed', 'claimed', (book) => book.claimedMicros, DOLLARS],
  ['automatic', 'automatic', (book) => book.automaticMicros, DOLLARS],
  ['unpaid', 'unpaid', unpaidMicros, DOLLARS],
  ['collateral', null, (book) => book.collateralMicros, DOLLARS],
];
const COLUMNS: Columns<MarketBook> = [...IDENTITY, ...SUMS];

function totalsOf(books: readonly MarketBook[], names: Names): string[] {
  const sums = SUMS.filter(([, head]) => head !== null).map(([, , of, unit]) => {
    const sum = books.reduce((total, book) => total + Number(of(book, names)), 0);
    return cellText(sum, unit);
  });
  return ['all', ...IDENTITY.slice(1).map(() => ''), ...sums];
}

function isPriced({ resolution }: MarketBook): boolean {
  return resolution === Resolution.UP || resolution === Resolution.DOWN;
}

function unpaidMicros(book: MarketBook): number {
  return book.resolution === Resolution.NONE ? 0 : book.collateralMicros;
}

/** A closed market is resolved and fully paid. */
function statusText(book: MarketBook): string {
  return book.closed ? 'paid' : statusName(book.status as MarketStatus);
}
