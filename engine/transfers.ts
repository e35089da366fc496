/**
 * Transfers that partners made, by partner and reference, so that each is made once and a repeat gets the first answer.
 */
import type { Archive } from './archive.js';
import type { Deposit, Withdraw } from './commands.js';

export interface Transfer {
  isDeposit: boolean;
  userId: number;
  amountMicros: number;
  /** What the first answer said. */
  sequence: number;
  atMs: number;
  availableMicros: number;
  heldMicros: number;
}

export class Transfers {
  private readonly byReference = new Map<string, Transfer>();

  get count(): number {
    return this.byReference.size;
  }

  find(partner: string, reference: string): Transfer | null {
    return this.byReference.get(keyOf(partner, reference)) ?? null;
  }

  add(partner: string, reference: string, transfer: Transfer): void {
    this.byReference.set(keyOf(partner, reference), transfer);
  }

  archive(archive: Archive): void {
    const count = archive.number(this.byReference.size);
    const existing = archive.reading ? [] : [...this.byReference];
    for (let i = 0; i < count; i++) {
      const [oldKey, old] = existing[i] ?? ['', null];
      const key = archive.text(oldKey);
      const transfer: Transfer = {
        isDeposit: archive.number(old?.isDeposit ? 1 : 0) === 1,
        userId: archive.number(old?.userId ?? 0),
        amountMicros: archive.number(old?.amountMicros ?? 0),
        sequence: archive.number(old?.sequence ?? 0),
        atMs: archive.number(old?.atMs ?? 0),
        availableMicros: archive.number(old?.availableMicros ?? 0),
        heldMicros: archive.number(old?.heldMicros ?? 0),
      };
      if (archive.reading) this.byReference.set(key, transfer);
    }
  }
}

export function isRepeatOf(command: Deposit | Withdraw, transfer: Transfer): boolean {
  return (
    transfer.isDeposit === (command.kind === 'deposit') &&
    transfer.userId === command.userId &&
    transfer.amountMicros === command.amountMicros
  );
}

/** The length keeps "a" + "bc" and "ab" + "c" apart. */
function keyOf(partner: string, reference: string): string {
  return `${partner.length}:${partner}${reference}`;
}
