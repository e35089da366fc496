/**
 * The one writer of the history: of its catalogue (parts/catalogue.ts), and of the part that is
 * open (parts/part.ts).
 *
 * Invariant: a part is over when it has PART_COMMANDS commands, or when the next one is of
 * another UTC day, but not before the part before it is sealed. The next part is there before the
 * catalogue says that a part is over. A start reads little of the history, however large it is
 * (opening.ts).
 */
import { Catalogue, type PartList } from './parts/catalogue.js';
import { PartWriter } from './parts/part.js';
import type { BatchEnd, Progress } from './parts/progress.js';
import type { HistoryChanges } from './projection.js';
import { readLengths, writeLengths } from './runs/lengths.js';

/** The commands after which a part is over: rebuilding it takes a minute, and its file is small. */
const PART_COMMANDS = 10_000_000;
const DAY_MS = 86_400_000;
/** How many runs are written before the lengths are stored again, for few lists and for many. */
const RUNS_BETWEEN = 50_000;
const LISTS_PER_RUN = 8;

export class HistoryStore {
  private runsBetween = RUNS_BETWEEN;

  private constructor(
    private readonly folder: string,
    readonly catalogue: Catalogue,
    private writer: PartWriter,
    private readonly partCommands: number | null,
  ) {}

  /**
   * Opens the history of a data folder, or creates an empty one.
   * @throws HistoryDamage when it is damaged or of another version; or another error of SQLite.
   */
  static async open(
    folder: string,
    /** Commands in a part; with null, only `beginPart` ends a part. */
    partCommands: number | null = PART_COMMANDS,
  ): Promise<HistoryStore> {
    const catalogue = await Catalogue.open(folder);
    let writer: PartWriter | null = null;
    try {
      const { open, over } = catalogue.parts;
      writer = await PartWriter.open(folder, open, catalogue.parts.endOf(over.length));
      await catalogue.removeResultsAfter(writer.progress.sequence);
      return new HistoryStore(folder, catalogue, writer, partCommands);
    } catch (error) {
      await writer?.close();
      await catalogue.close();
      throw error;
    }
  }

  get parts(): PartList {
    return this.catalogue.parts;
  }

  /** The part that is open. */
  get open(): PartWriter {
    return this.writer;
  }

  get progress(): Progress {
    return this.writer.progress;
  }

  /** Where the oldest part that is not sealed begins: it may have to be rebuilt. */
  get partSequence(): number {
    const { parts } = this;
    return parts.endOf(parts.unsealed.at(-1)! - 1).sequence;
  }

  async commit(changes: HistoryChanges, end: BatchEnd): Promise<void> {
    if (this.isOver(end)) await this.beginPart();
    else if (this.writer.runs >= this.runsBetween) await this.storeLengths();
    await this.catalogue.storeResults(changes);
    await this.writer.commit(changes, end);
  }

  /** Syncs committed transactions, except those that a reader holds back. */
  sync(): Promise<void> {
    return this.writer.sync();
  }

  async close(): Promise<void> {
    await this.writer.close();
    await this.catalogue.close();
  }

  /** Whether the open part is twice as long as it should be, because the last is not sealed. */
  get isOverlong(): boolean {
    const { parts, partCommands, openCommands } = this;
    return partCommands !== null && parts.unsealed.length > 1 && openCommands >= 2 * partCommands;
  }

  private get openCommands(): number {
    return this.progress.sequence - this.parts.endOf(this.parts.open - 1).sequence;
  }

  /** Whether commands up to `end` belong to the next part. */
  private isOver(end: BatchEnd): boolean {
    const { parts, progress, partCommands, openCommands: commands } = this;
    if (partCommands === null || parts.unsealed.length > 1) return false;
    const isOtherDay = Math.floor(progress.atMs / DAY_MS) !== Math.floor(end.atMs / DAY_MS);
    return commands >= partCommands || (commands > 0 && isOtherDay);
  }

  /** Ends the open part. */
  async beginPart(): Promise<void> {
    const { folder, writer, catalogue } = this;
    await writer.sync();
    const next = await PartWriter.open(folder, writer.part + 1, writer.progress);
    try {
      await next.sync();
      await catalogue.endPart(folder, writer.database, writer.progress);
    } catch (error) {
      await next.close();
      throw error;
    }
    this.writer = next;
    await writer.close();
  }

  /** A start reads the lengths that are stored, and the runs after them. */
  private async storeLengths(): Promise<void> {
    const { writer, catalogue } = this;
    const { lengths, lastRow } = await readLengths(catalogue.database, writer.database);
    const write = () => writeLengths(writer.database, lengths, lastRow);
    const lists = await writer.transaction(write);
    writer.runs = 0;
    this.runsBetween = Math.max(RUNS_BETWEEN, lists / LISTS_PER_RUN);
  }
}
