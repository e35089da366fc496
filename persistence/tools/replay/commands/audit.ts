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
import { bookFinding, type Finding } from '../output/findings.js';
import { dollars, type JsonObject, shares, timeText } from '../output/units.js';
import { Books, type MarketBook } from '../proofs/books.js';
import { fundsObject } from './state.js';

interface AuditRequest extends Invocation {
  limit: number;
}

/** A full check reads every account and order: too slow for each batch. */
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

  /** Stops at the first batch with a finding, because later batches would repeat it. */
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
  output.judgement(auditReport(replayed), auditor.findings, request.json, request.limit);
  return auditor.findings.length === 0 ? ExitStatus.GOOD : ExitStatus.DAMAGE;
}

function auditReport({ engine, batches, visitor: auditor }: Replayed<Auditor>): JsonObject {
  const { sequence, nowMs: atMs } = engine;
  const { batchChecks, fullChecks, findings } = auditor;
  const funds = engine.funds();
  const good = findings.length === 0;
  const conclusion = good
    ? 'After each batch, money was conserved and every market was covered.'
    : `Findings: ${findings.length}.`;
  const newestFirst = [...auditor.books.markets.values()].sort((a, b) => b.marketId - a.marketId);
  return {
    ...{ good, conclusion, sequence, atMs, time: timeText(atMs), digest: engine.digest() },
    ...{ batches, batchChecks, fullChecks },
    ...{ funds: fundsObject(funds, engine), treasury: dollars(funds.treasuryMicros) },
    markets: newestFirst.map((book) => marketObject(book, engine)),
  };
}

function marketObject(book: MarketBook, names: Names): JsonObject {
  return {
    marketId: marketName(book.marketId, names),
    status: statusText(book),
    resolution: resolutionName(book.resolution),
    startPrice: dollars(book.startPriceMicros || null),
    endPrice: isPriced(book) ? dollars(book.endPriceMicros) : null,
    trades: book.trades,
    volume: dollars(book.volumeMicros),
    fees: dollars(book.feesMicros),
    feesShared: book.feesShared,
    vault: dollars(book.vaultMicros),
    referrers: dollars(book.referrersMicros),
    makers: dollars(book.makersMicros),
    treasury: dollars(book.treasuryMicros),
    refunded: dollars(book.refundedMicros),
    sets: shares(book.setLots),
    mostSets: shares(book.mostSetLots),
    claimed: dollars(book.claimedMicros),
    automatic: dollars(book.automaticMicros),
    unpaid: dollars(unpaidMicros(book)),
    collateral: dollars(book.collateralMicros),
  };
}

function isPriced({ resolution }: MarketBook): boolean {
  return resolution === Resolution.UP || resolution === Resolution.DOWN;
}

function unpaidMicros(book: MarketBook): number {
  return book.resolution === Resolution.NONE ? 0 : book.collateralMicros;
}

function statusText(book: MarketBook): string {
  return book.closed ? 'paid' : statusName(book.status as MarketStatus);
}
