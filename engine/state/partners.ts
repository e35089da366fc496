/**
 * The partners that registered users. Users refer to a partner by its number: 1, 2, … in the order
 * of the partners' first registrations; 0 if none. No partner is ever removed.
 */
import { type Archive, archivedList } from '../storage/archive.js';

export class Partners {
  private names: string[] = [];
  private readonly numbers = new Map<string, number>();

  get count(): number {
    return this.names.length;
  }

  /** The partner's number; 0 if the partner has registered no user. */
  find(name: string): number {
    return this.numbers.get(name) ?? 0;
  }

  findOrAdd(name: string): number {
    const known = this.find(name);
    if (known !== 0) return known;
    this.names.push(name);
    this.numbers.set(name, this.names.length);
    return this.names.length;
  }

  nameOf(number: number): string | null {
    return this.names[number - 1] ?? null;
  }

  archive(archive: Archive): void {
    const names = archivedList(archive, this.names, (name = '') => archive.text(name));
    if (!archive.reading) return;
    this.names = [];
    this.numbers.clear();
    for (const name of names) this.findOrAdd(name);
  }
}
