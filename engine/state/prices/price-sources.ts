/**
 * The last price of each source of an asset's price, and their median.
 *
 * Always holds: a source is known while its last price is fresh, at most SOURCE_FRESH_MS old. An
 * older one has no effect any more.
 */

import { MAX_PRICE_SOURCES } from '../../interface/limits.js';
import { SOURCE_FRESH_MS } from '../../interface/parameters.js';
import type { Archive } from '../../storage/archive.js';
import { areFarApart } from './price-guard.js';

interface Source {
  name: string;
  priceMicros: number;
  observedAtMs: number;
}

export class PriceSources {
  /** By asset; the sources in the order of their first prices. */
  private readonly assets: Source[][] = [];

  /** Forgets sources whose last price is not fresh. */
  forgetOld(asset: number, nowMs: number): void {
    this.assets[asset] = this.of(asset).filter((one) => isFresh(one.observedAtMs, nowMs));
  }

  /** Whether a price of this source would be one source too many. */
  isFull(asset: number, name: string): boolean {
    const sources = this.of(asset);
    return sources.length >= MAX_PRICE_SOURCES && !sources.some((one) => one.name === name);
  }

  /** Whether the source has a price that was observed later. */
  hasLater(asset: number, name: string, observedAtMs: number): boolean {
    return this.of(asset).some((one) => one.name === name && one.observedAtMs > observedAtMs);
  }

  /** Replaces the source's last price. */
  set(asset: number, name: string, priceMicros: number, observedAtMs: number): void {
    const known = this.of(asset).find((one) => one.name === name);
    if (known === undefined) {
      this.assets[asset] = [...this.of(asset), { name, priceMicros, observedAtMs }];
      return;
    }
    known.priceMicros = priceMicros;
    known.observedAtMs = observedAtMs;
  }

  /**
   * The median of the sources' prices. Of two in the middle, it is their mean, rounded down; but if
   * exactly one of them is far from the last price, it is the other.
   */
  median(asset: number, lastMicros: number | null): number {
    const ascending = this.of(asset).map((one) => one.priceMicros);
    ascending.sort((a, b) => a - b);
    const high = ascending[ascending.length >>> 1]!;
    const low = ascending[(ascending.length - 1) >>> 1]!;
    if (lastMicros !== null) {
      const isLowFar = areFarApart(low, lastMicros);
      if (isLowFar !== areFarApart(high, lastMicros)) return isLowFar ? high : low;
    }
    return Math.floor((low + high) / 2);
  }

  /** When the newest of the sources' prices was observed. */
  newestAtMs(asset: number): number {
    return this.of(asset).reduce((newest, one) => Math.max(newest, one.observedAtMs), 0);
  }

  /** The names of all, each once. */
  names(): string[] {
    return [...new Set(this.assets.flat().map(({ name }) => name))];
  }

  archive(archive: Archive, assetCount: number): void {
    for (let asset = 0; asset < assetCount; asset++) {
      const sources = this.of(asset);
      const count = archive.number(sources.length);
      const read: Source[] = [];
      for (let i = 0; i < count; i++) {
        read.push({
          name: archive.text(sources[i]?.name ?? ''),
          priceMicros: archive.number(sources[i]?.priceMicros ?? 0),
          observedAtMs: archive.number(sources[i]?.observedAtMs ?? 0),
        });
      }
      this.assets[asset] = read;
    }
  }

  private of(asset: number): Source[] {
    return this.assets[asset] ?? [];
  }
}

export function isFresh(observedAtMs: number, nowMs: number): boolean {
  return observedAtMs >= nowMs - SOURCE_FRESH_MS;
}
