/**
 * A queue with one line per key (address or user). After its turn, a line moves to the end.
 *
 * Invariant: at most `perKey` entries per key and `perLane` in total are queued. In a full lane, a
 * new entry replaces the last entry of the longest line, if its own line stays shorter than that.
 */
import type { AddressKey } from './addresses.js';

export interface LaneLimits {
  perLane: number;
  perKey: number;
}

export class Lane<Entry extends { readonly key: AddressKey }> {
  private readonly lines = new Map<AddressKey, Entry[]>();
  private length = 0;

  constructor(private readonly limits: LaneLimits) {}

  get size(): number {
    return this.length;
  }

  isFullFor(key: AddressKey): boolean {
    return this.length >= this.limits.perLane || this.lineOf(key).length >= this.limits.perKey;
  }

  lineOf(key: AddressKey): readonly Entry[] {
    return this.lines.get(key) ?? [];
  }

  /** Returns the entry without a place (a displaced one or the new one), or `null`. */
  add(entry: Entry): Entry | null {
    const { key } = entry;
    let displaced: Entry | null = null;
    if (this.isFullFor(key)) {
      displaced = this.displacedBy(key);
      if (displaced === null) return entry;
      this.remove(displaced);
    }
    const line = this.lines.get(key);
    if (line === undefined) this.lines.set(key, [entry]);
    else line.push(entry);
    this.length++;
    return displaced;
  }

  /** Removes and returns the oldest entry of the first line that may have a turn. */
  take(mayHaveTurn: (key: AddressKey) => boolean = () => true): Entry | null {
    for (const [key, [entry]] of this.lines) {
      if (!mayHaveTurn(key)) continue;
      this.remove(entry!);
      const rest = this.lines.get(key);
      if (rest !== undefined) {
        this.lines.delete(key);
        this.lines.set(key, rest);
      }
      return entry!;
    }
    return null;
  }

  remove(entry: Entry): void {
    const line = this.lines.get(entry.key);
    const at = line?.indexOf(entry) ?? -1;
    if (line === undefined || at < 0) return;
    line.splice(at, 1);
    if (line.length === 0) this.lines.delete(entry.key);
    this.length--;
  }

  private displacedBy(key: AddressKey): Entry | null {
    const own = this.lineOf(key).length;
    if (own >= this.limits.perKey) return null;
    let longest: Entry[] = [];
    for (const line of this.lines.values()) if (line.length > longest.length) longest = line;
    return longest.length > own + 1 ? longest.at(-1)! : null;
  }
}
