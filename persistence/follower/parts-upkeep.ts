/**
 * Background maintenance of the history's parts, one task at a time: it seals finished parts,
 * rebuilds damaged or lost ones, prunes old ones, and slowly verifies the checksums of the rest.
 *
 * Invariant: none of this stops the follower, trading, or reads of other parts. While a part
 * whose task failed waits for the next attempt, other parts have their turns.
 */
import type { HistoryFiles } from '../history/parts/files.js';
import { checkFile, type MakePart, prunePart, sealPart } from '../history/parts/sealing.js';
import { HistoryDamage } from '../history/rows.js';
import type { HistoryStore } from '../history/store.js';
import { JournalError, restoreCommand } from '../journal/errors.js';
import { MissingSegments } from '../journal/reader.js';
import { type RebuildOptions, rebuildPart } from './part-rebuild.js';
import type { Troubles } from './troubles.js';

/** The pause after each MiB of a part that is checked. */
const CHECK_PAUSE_MS = 50;
const DAY_MS = 86_400_000;
/** The time from the start of one check of all parts to the start of the next. */
const CHECK_EVERY_MS = DAY_MS;
/** The wait before the next attempt at a part; doubled each time, up to the longest. */
const FIRST_WAIT_MS = 10_000;
const LONGEST_WAIT_MS = 3_600_000;

export interface UpkeepOptions extends RebuildOptions {
  troubles: Troubles;
  makePart: MakePart;
  /** The days after which a part is pruned; 0 means never. */
  historyDays: number;
}

export class PartsUpkeep {
  private readonly ends = new AbortController();
  private running: Promise<void> | null = null;
  /** Settles when the part that is being sealed is sealed, or could not be. */
  sealing: Promise<void> = Promise.resolve();
  /** Parts that are to be checked, newest first. */
  private readonly unchecked = new Set<number>();
  private wakeUp: (() => void) | null = null;
  /** Parts whose last attempt failed. */
  private readonly failing = new Set<number>();
  /** How often each part failed or was rebuilt. */
  private readonly attempts = new Map<number, number>();
  /** Parts whose next attempt waits, with its timer. */
  private readonly waiting = new Map<number, NodeJS.Timeout>();
  private readonly checks: NodeJS.Timeout;

  constructor(
    private readonly options: UpkeepOptions,
    private readonly store: HistoryStore,
    private readonly files: HistoryFiles,
    private readonly catalogueDamaged: (error: HistoryDamage) => void,
  ) {
    this.checkAll();
    this.checks = setInterval(() => {
      this.checkAll();
      this.wake();
    }, CHECK_EVERY_MS).unref();
  }

  /** Called when the history answers, and after each transaction. */
  wake(): void {
    this.running ??= this.run();
    this.wakeUp?.();
  }

  /** Whether no finished part is lost, and no task failed at its last attempt. */
  get isWhole(): boolean {
    return this.store.parts.lost.size === 0 && this.failing.size === 0;
  }

  /** Notes that a finished part is damaged: nothing is read from it until it is rebuilt. */
  damaged(part: number, error: HistoryDamage): void {
    const { lost } = this.store.parts;
    if (lost.has(part)) return;
    lost.add(part);
    const { log, troubles } = this.options;
    const { table, row, message: problem } = error;
    const what = 'a part of the history is damaged and will be rebuilt from the journal';
    log.error({ historyPart: part, table, row, problem }, what);
    const remedy = 'It is being rebuilt from the journal. You need not do anything.';
    troubles.note({ part: 'history', problem: `part ${part}: ${problem}`, remedy });
    this.wake();
  }

  async close(): Promise<void> {
    clearInterval(this.checks);
    for (const timer of this.waiting.values()) clearTimeout(timer);
    this.ends.abort();
    this.wakeUp?.();
    await this.running;
  }

  private async run(): Promise<void> {
    const { signal } = this.ends;
    while (!signal.aborted) {
      const work = this.next();
      if (work === null) await this.woken();
      else await this.attempt(work);
    }
  }

  /**
   * The next work on a part; null if there is none now. Sealing comes first, because the open part
   * cannot end until it is done.
   */
  private next(): { part: number; work: () => Promise<void> } | null {
    const { parts } = this.store;
    const { lost, unsealed } = parts;
    const over = unsealed[1];
    if (over !== undefined && !lost.has(over) && this.isDue(over))
      return { part: over, work: () => this.sealNext(over) };
    for (const part of [...lost].sort((a, b) => a - b))
      if (this.isDue(part)) return { part, work: () => this.rebuild(part) };
    const old = this.prunable();
    if (old !== undefined) return { part: old, work: () => this.prune(old) };
    for (const part of this.unchecked)
      if (parts.isSealed(part) && !lost.has(part) && this.isDue(part))
        return { part, work: () => this.check(part) };
    return null;
  }

  private checkAll(): void {
    for (let part = this.store.parts.over.length; part > 0; part--) this.unchecked.add(part);
  }

  /** The oldest part that is due for pruning. */
  private prunable(): number | undefined {
    const { store, options } = this;
    const { parts, progress } = store;
    if (options.historyDays === 0) return undefined;
    const beforeMs = progress.atMs - options.historyDays * DAY_MS;
    return parts.over.find(
      ({ part, end, sha256, pruned }) =>
        !pruned &&
        sha256 !== null &&
        end.atMs < beforeMs &&
        !parts.lost.has(part) &&
        this.isDue(part),
    )?.part;
  }

  private isDue(part: number): boolean {
    return !this.waiting.has(part);
  }

  private postpone(part: number): void {
    const attempts = this.attempts.get(part) ?? 0;
    this.attempts.set(part, attempts + 1);
    const waitMs = Math.min(FIRST_WAIT_MS * 2 ** attempts, LONGEST_WAIT_MS);
    const again = () => {
      this.waiting.delete(part);
      this.wakeUp?.();
    };
    this.waiting.set(part, setTimeout(again, waitMs).unref());
  }

  private async attempt({
    part,
    work,
  }: {
    part: number;
    work: () => Promise<void>;
  }): Promise<void> {
    const { signal } = this.ends;
    try {
      await work();
      this.failing.delete(part);
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof HistoryDamage && error.part === null) {
        this.ends.abort();
        this.catalogueDamaged(error);
        return;
      }
      const damaged = error instanceof HistoryDamage ? error.part : null;
      if (damaged !== null && !this.store.parts.lost.has(damaged)) {
        this.damaged(damaged, error as HistoryDamage);
        return;
      }
      const { troubles, folder } = this.options;
      const isOfJournal = error instanceof JournalError || error instanceof MissingSegments;
      const remedy = isOfJournal
        ? `To bring back what is missing (this works while the exchange trades): ${restoreCommand(folder)}`
        : `Part ${part} of the history will be retried. If it keeps failing: npm run doctor -- --data ${folder}`;
      troubles.failed('history', error, remedy);
      this.failing.add(part);
      this.postpone(part);
    }
  }

  private async sealNext(part: number): Promise<void> {
    const sealed = this.seal(part);
    this.sealing = sealed.catch(() => {});
    await sealed;
  }

  private async seal(part: number): Promise<void> {
    const { store, options } = this;
    await sealPart(this.filesOf(part));
    options.log.info(
      { historyPart: part, sequence: store.parts.endOf(part).sequence },
      'a part of the history was sealed',
    );
    if (this.isWhole) options.troubles.works('history');
  }

  private async prune(part: number): Promise<void> {
    await prunePart(this.filesOf(part));
    const what = 'the orders and books of a part of the history were pruned';
    this.options.log.info({ historyPart: part }, what);
  }

  private filesOf(part: number) {
    const { store, files, options, ends } = this;
    const { folder, makePart: make } = options;
    return { folder, part, catalogue: store.catalogue, files, make, signal: ends.signal };
  }

  private async rebuild(part: number): Promise<void> {
    const { store, files, options, ends } = this;
    await files.closeFile(part);
    await rebuildPart(options, { catalogue: store.catalogue, files, part, signal: ends.signal });
    await this.seal(part);
    // Damage that returns immediately could return at each attempt.
    this.postpone(part);
  }

  private async check(part: number): Promise<void> {
    const { parts } = this.store;
    const sha256 = parts.over[part - 1]!.sha256!;
    const { signal } = this.ends;
    await checkFile(parts.pathOf(part), { part, sha256, pauseMs: CHECK_PAUSE_MS, signal });
    this.unchecked.delete(part);
    if (this.unchecked.size === 0)
      this.options.log.info({ parts: parts.over.length }, 'all parts of the history were checked');
  }

  private async woken(): Promise<void> {
    await new Promise<void>((resolve) => (this.wakeUp = resolve));
    this.wakeUp = null;
  }
}
