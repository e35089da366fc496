/**
 * Day files: for each asset and UTC day, the events of all its markets as lines of JSON, in
 * days/<asset>/<date>.jsonl.gz of the data folder. Each market has a line of its own, followed by
 * its events in the form of GET /markets/15m/:marketId/events.
 *
 * Invariant: a file is complete, because it gets its name when it is durable, and never changes. It
 * is written once the last market of its day is resolved. Leftovers of a crash are overwritten.
 */
import { createWriteStream } from 'node:fs';
import { readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import {
  assetOfMarket,
  MarketStatus,
  startOfMarketMs,
  WINDOW_MS,
} from '../../engine/interface/domain.js';
import {
  type Assets,
  marketIdText,
  microsText,
  resolutionName,
} from '../../engine/interface/notation.js';
import { createPrivateFolder, FILE_MODE, syncPath } from '../storage/files.js';
import { freeBytesAt } from '../storage/room.js';
import type { EventCursor, MarketEventsPage } from './market-events.js';
import { eventText } from './market-json/event-text.js';
import type { CommittedLists } from './opening.js';
import { type HistoryFiles, HistoryPruned } from './parts/files.js';
import { HistoryReads } from './reads.js';
import type { MarketRecord } from './runs/format.js';

const DAY_MS = 86_400_000;
const MARKETS_IN_DAY = DAY_MS / WINDOW_MS;
/** Events that are read and written without a turn for the thread's other work. */
const PAGE_EVENTS = 1_000;
/** The free disk space that a day file leaves to the journal. */
const FREE_BYTES_MIN = 1024 ** 3;
const SUFFIX = '.jsonl.gz';
const NAME = /^(\d{4}-\d\d-\d\d)\.jsonl\.gz$/;

export interface DayFile {
  asset: string;
  /** The UTC day, such as 2025-11-21. */
  date: string;
  bytes: number;
}

function daysFolder(folder: string, asset = ''): string {
  return join(folder, 'days', asset);
}

/**
 * The path of a file, or null if the file does not exist. @param name such as 2025-11-21.jsonl.gz
 */
export function dayFilePath(folder: string, asset: string, name: string): string | null {
  const isName = /^[A-Z0-9]{2,10}$/.test(asset) && NAME.test(name);
  return isName ? join(daysFolder(folder, asset), name) : null;
}

/** The files of each asset, newest first. */
export async function listDayFiles(folder: string): Promise<DayFile[]> {
  const files: DayFile[] = [];
  for (const asset of (await namesIn(daysFolder(folder))).sort()) {
    for (const date of (await datesIn(folder, asset)).reverse()) {
      const { size: bytes } = await stat(dayFilePath(folder, asset, date + SUFFIX)!);
      files.push({ asset, date, bytes });
    }
  }
  return files;
}

async function namesIn(path: string): Promise<string[]> {
  return readdir(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
}

/** The dates of an asset's files, oldest first. */
async function datesIn(folder: string, asset: string): Promise<string[]> {
  const names = await namesIn(daysFolder(folder, asset));
  return names.flatMap((name) => NAME.exec(name)?.[1] ?? []).sort();
}

interface DayFilesOptions {
  folder: string;
  assets: Assets;
  files: HistoryFiles;
  /** How many days of each asset are kept; with 0 no file is written. */
  days: number;
  log: { info(fields: object, message: string): void };
}

/** Writes missing files, and removes those that are too old. */
export class DayFiles {
  private making: Promise<void> | null = null;
  private isClosed = false;

  constructor(private readonly options: DayFilesOptions) {}

  /**
   * Called when a market was added. @param lists of the history, as of its last transaction.
   * @param done told why a file could not be made; null if all are.
   */
  update(lists: CommittedLists, done: (error: unknown) => void): void {
    if (this.making !== null || this.isClosed || this.options.days === 0) return;
    this.making = this.make(lists)
      .then(
        () => done(null),
        (error: unknown) => {
          if (!this.isClosed) done(error);
        },
      )
      .finally(() => {
        this.making = null;
      });
  }

  /** Settles when reading has stopped. */
  async close(): Promise<void> {
    this.isClosed = true;
    await this.making;
  }

  private async make(lists: CommittedLists): Promise<void> {
    const { folder, days, assets, files } = this.options;
    const reads = new HistoryReads(files, { lists, openMarket: () => null });
    for (const [asset, marketsByDay] of countMarkets(lists.knownMarketIds)) {
      const symbol = assets.assetSymbol(asset);
      // The last day with a market has not ended.
      const over = [...marketsByDay.keys()].sort((a, b) => a - b).slice(0, -1);
      const kept = over.slice(-days);
      const made = await datesIn(folder, symbol);
      for (const day of kept.filter((day) => !made.includes(dateOf(day)))) {
        const markets = await marketsOf(reads, asset, day);
        if (markets.length !== marketsByDay.get(day)) continue;
        await this.makeOne(reads, day, markets).catch((error: unknown) => {
          if (!(error instanceof HistoryPruned)) throw error;
        });
      }
      for (const date of made.filter((date) => kept.length > 0 && date < dateOf(kept[0]!)))
        await rm(dayFilePath(folder, symbol, date + SUFFIX)!);
    }
  }

  private async makeOne(
    reads: HistoryReads,
    day: number,
    markets: readonly MarketRecord[],
  ): Promise<void> {
    const { folder, assets, log } = this.options;
    const asset = assets.assetSymbol(assetOfMarket(markets[0]!.marketId));
    const date = dateOf(day);
    const path = dayFilePath(folder, asset, date + SUFFIX)!;
    const temporary = `${path}.tmp`;
    await createPrivateFolder(daysFolder(folder, asset));
    const lines = Readable.from(this.linesOf(reads, markets), { highWaterMark: 1 });
    await pipeline(lines, createGzip(), createWriteStream(temporary, { mode: FILE_MODE }));
    await syncPath(temporary);
    await rename(temporary, path);
    await syncPath(daysFolder(folder, asset));
    log.info({ asset, date, markets: markets.length }, 'a day file was made');
  }

  /** The lines of a day, in pages, between which the thread does other work. */
  private async *linesOf(
    reads: HistoryReads,
    markets: readonly MarketRecord[],
  ): AsyncGenerator<string, void, void> {
    const { folder, assets } = this.options;
    for (const market of markets) {
      const { marketId } = market;
      yield `${marketLine(assets, market)}\n`;
      let cursor: EventCursor | null = null;
      do {
        if (this.isClosed) throw new Error('the follower ends');
        if ((freeBytesAt(folder) ?? FREE_BYTES_MIN) < FREE_BYTES_MIN)
          throw new Error(`${folder} has less than ${FREE_BYTES_MIN / 2 ** 20} MiB free`);
        const request = { kind: 'marketEvents', marketId, limit: PAGE_EVENTS, cursor } as const;
        const page: MarketEventsPage = (await reads.marketEvents(request)())!;
        yield page.entries.map((event) => `${eventText(event)}\n`).join('');
        cursor = page.nextCursor;
      } while (cursor !== null);
    }
  }
}

function countMarkets(marketIds: Iterable<number>): Map<number, Map<number, number>> {
  const counts = new Map<number, Map<number, number>>();
  for (const marketId of marketIds) {
    const asset = assetOfMarket(marketId);
    const day = Math.floor(startOfMarketMs(marketId) / DAY_MS);
    const ofAsset = counts.get(asset) ?? new Map<number, number>();
    counts.set(asset, ofAsset.set(day, (ofAsset.get(day) ?? 0) + 1));
  }
  return counts;
}

/** The resolved markets of the day, oldest first. */
async function marketsOf(reads: HistoryReads, asset: number, day: number): Promise<MarketRecord[]> {
  const [fromMs, toMs] = [day * DAY_MS, (day + 1) * DAY_MS - 1];
  const wanted = { asset, fromMs, toMs, limit: MARKETS_IN_DAY, cursor: null };
  const { entries } = await reads.pastMarkets({ kind: 'pastMarkets', ...wanted })();
  return entries.filter(({ status }) => status === MarketStatus.RESOLVED).reverse();
}

function dateOf(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10);
}

/** The price as JSON; `null` if it is 0, which means no price. */
function priceText(micros: number): string {
  return micros === 0 ? 'null' : microsText(micros);
}

function marketLine(assets: Assets, market: MarketRecord): string {
  const { marketId, startPriceMicros, endPriceMicros } = market;
  const startsAtMs = startOfMarketMs(marketId);
  return (
    `{"type":"market","marketId":"${marketIdText(assets, marketId)}"` +
    `,"startsAtMs":${startsAtMs},"endsAtMs":${startsAtMs + WINDOW_MS}` +
    `,"startPrice":${priceText(startPriceMicros)},"endPrice":${priceText(endPriceMicros)}` +
    `,"resolution":"${resolutionName(market.resolution)}","resolvedAtMs":${market.resolvedAtMs}` +
    `,"volume":${microsText(market.volumeMicros)}}`
  );
}
