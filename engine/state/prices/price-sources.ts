/**
 * The last price of each source of an asset's price, and their median.
 *
 * Invariant: only fresh prices count, which are at most SOURCE_FRESH_MS old. A source without a
 * fresh price is forgotten.
 */

import { MAX_PRICE_SOURCES } from '../../interface/limits.js';
import { SOURCE_FRESH_MS } from '../../interface/parameters.js';
import { type Archive, archivedList } from '../../storage/archive.js';
import { areFarApart } from './price-guard.js';

interface Source {
  name: string;
  priceMicros: number;
  observedAtMs: number;
}

export class PriceSources {
  /** The sources of each asset, in the order of their first prices. */
  private readonly assets: Source[][] = [];

  forgetOld(asset: number, nowMs: number): void {
    this.assets[asset] = this.of(asset).filter((one) => isFresh(one.observedAtMs, nowMs));
  }

  /** Whether the asset has the maximum of sources and this is a further one. */
  isFull(asset: number, name: string): boolean {
    const sources = this.of(asset);
    return sources.length >= MAX_PRICE_SOURCES && !sources.some((one) => one.name === name);
  }

  hasLater(asset: number, name: string, observedAtMs: number): boolean {
    return this.of(asset).some((one) => one.name === name && one.observedAtMs > observedAtMs);
  }

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
   * The median of the sources' prices. With an even number of prices, it is the mean of the two
   * middle prices, rounded down. But if exactly one middle price is far from the last price, the
   * median is the other middle price.
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

  newestAtMs(asset: number): number {
    return this.of(asset).reduce((newest, one) => Math.max(newest, one.observedAtMs), 0);
  }

  /** The names of all sources, each once. */
  names(): string[] {
    return [...new Set(this.assets.flat().map(({ name }) => name))];
  }

  archive(archive: Archive, assetCount: number): void {
    for (let asset = 0; asset < assetCount; asset++) {
      this.assets[asset] = archivedList(archive, this.of(asset), (source) => ({
        name: archive.text(source?.name ?? ''),
        priceMicros: archive.number(source?.priceMicros ?? 0),
        observedAtMs: archive.number(source?.observedAtMs ?? 0),
      }));
    }
  }

  private of(asset: number): Source[] {
    return this.assets[asset] ?? [];
  }
}

export function isFresh(observedAtMs: number, nowMs: number): boolean {
  return observedAtMs >= nowMs - SOURCE_FRESH_MS;
}
