/**
 * Transfers of partners, by partner and reference: each happens once, and a repeat gets the
 * original result.
 *
 * Transfers are kept by periods of TRANSFER_PERIOD_MS since 1970. The first transfer that comes
 * TRANSFER_KEPT_MS after a period's end forgets the whole period.
 */

import { CommandKind, type Deposit, type Withdraw } from '../interface/commands.js';
import { TRANSFER_KEPT_MS, TRANSFER_PERIOD_MS } from '../interface/limits.js';
import type { Archive } from '../storage/archive.js';
import { Chunks } from '../storage/chunks.js';
import type { IncrementalTask } from '../storage/incremental-task.js';
import { HashIndex } from '../storage/indexes/hash-index.js';
import { offsetsOf } from '../storage/number-buffer.js';
import type { TextHash } from '../storage/text-hash.js';
import { LongTexts } from '../storage/texts.js';

const FIELDS = [
  'kind',
  'userId',
  'amountMicros',
  'sequence',
  'atMs',
  'availableMicros',
  'heldMicros',
] as const;
/** `kind` is the command's kind, deposit or withdraw. */
type Transfer = Record<(typeof FIELDS)[number], number>;
const Field = offsetsOf(FIELDS);
/** Numbers in a row. */
const ROW = 8;

export class Transfers {
  /** The periods, oldest first. */
  private periods: Period[] = [];

  constructor(private readonly hash: TextHash) {}

  get count(): number {
    return this.periods.reduce((sum, period) => sum + period.count, 0);
  }

  forgetOld(nowMs: number): void {
    const endsBefore = nowMs - TRANSFER_KEPT_MS;
    while ((this.periods[0]?.endsAtMs ?? Number.POSITIVE_INFINITY) <= endsBefore)
      this.periods.shift();
  }

  find(partner: string, reference: string): Transfer | null {
    const name = nameOf(partner, reference);
    const hash = this.hash.of(name);
    for (const period of this.periods) {
      const found = period.find(name, hash);
      if (found !== null) return found;
    }
    return null;
  }

  /** The partner and reference of a command's transfer; null if none, or forgotten. */
  madeAt(sequence: number): { partner: string; reference: string } | null {
    const name = this.periods
      .findLast((period) => period.firstSequence <= sequence)
      ?.nameAt(sequence);
    if (name === undefined || name === null) return null;
    const partnerAt = name.indexOf(':') + 1;
    const referenceAt = partnerAt + Number(name.slice(0, partnerAt - 1));
    return { partner: name.slice(partnerAt, referenceAt), reference: name.slice(referenceAt) };
  }

  add(partner: string, reference: string, transfer: Transfer): void {
    const number = Math.floor(transfer.atMs / TRANSFER_PERIOD_MS);
    if (this.periods.at(-1)?.number !== number) this.periods.push(new Period(number, this.hash));
    this.periods.at(-1)!.add(nameOf(partner, reference), transfer);
  }

  /** Rebuilds the indexes, for a new key of the hash. */
  rebuildIndex(): void {
    for (const period of this.periods) period.rebuildIndex();
  }

  *archive(archive: Archive): IncrementalTask<void> {
    const count = archive.number(this.periods.length);
    for (let i = 0; i < count; i++) {
      const number = archive.number(this.periods[i]?.number ?? 0);
      if (archive.reading) this.periods[i] = new Period(number, this.hash);
      yield* this.periods[i]!.archive(archive);
    }
  }
}

/** The transfers of one period, in the order of their commands. */
class Period {
  /** Rows 1 to `count` are in use. */
  count = 0;
  private readonly index = new HashIndex();
  private readonly names = new LongTexts();
  private readonly rows = new Chunks(Float64Array);

  constructor(
    /** The number of the period, counted from 1970. */
    readonly number: number,
    private readonly hash: TextHash,
  ) {}

  get endsAtMs(): number {
    return (this.number + 1) * TRANSFER_PERIOD_MS;
  }

  get firstSequence(): number {
    return this.sequence(1);
  }

  find(name: string, hash: number): Transfer | null {
    let row = this.index.first(hash);
    while (row !== 0 && this.names.get(row) !== name) row = this.index.next(hash, row);
    return row === 0 ? null : this.read(row);
  }

  nameAt(sequence: number): string | null {
    let [from, to] = [1, this.count];
    while (from < to) {
      const middle = (from + to) >>> 1;
      if (this.sequence(middle) < sequence) from = middle + 1;
      else to = middle;
    }
    return this.sequence(from) === sequence ? this.names.get(from) : null;
  }

  add(name: string, transfer: Transfer): void {
    this.count++;
    const row = this.count;
    this.names.ensure(row + 1);
    this.rows.ensure((row + 1) * ROW);
    this.names.set(row, name);
    for (const field of FIELDS) this.rows.set(row * ROW + Field[field], transfer[field]);
    this.index.add(this.hash.of(name), row);
  }

  rebuildIndex(): void {
    this.index.clear(this.count);
    for (let row = 1; row <= this.count; row++)
      this.index.add(this.names.hashOf(row, this.hash), row);
  }

  *archive(archive: Archive): IncrementalTask<void> {
    this.count = archive.number(this.count);
    yield* this.names.archive(archive, this.count + 1);
    this.rows.archive(archive, (this.count + 1) * ROW);
    if (archive.reading) this.rebuildIndex();
  }

  private sequence(row: number): number {
    return this.rows.get(row * ROW + Field.sequence);
  }

  private read(row: number): Transfer {
    const fields = FIELDS.map((field) => [field, this.rows.get(row * ROW + Field[field])]);
    return Object.fromEntries(fields);
  }
}

export function isRepeatOf(command: Deposit | Withdraw, transfer: Transfer): boolean {
  return (
    transfer.kind === CommandKind[command.kind] &&
    transfer.userId === command.userId &&
    transfer.amountMicros === command.amountMicros
  );
}

/** The length keeps "a" + "bc" and "ab" + "c" apart. */
function nameOf(partner: string, reference: string): string {
  return `${partner.length}:${partner}${reference}`;
}
