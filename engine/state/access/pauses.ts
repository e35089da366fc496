/**
 * Pauses of assets and of everything; pauses of single markets are in markets.ts. A market that
 * opens later starts paused.
 */
import { type Archive, archivedList } from '../../storage/archive.js';

/** Bits of a market's `pausedBy`: three separate switches. */
export const PausedBy = { MARKET: 1, ASSET: 2, EVERYTHING: 4 } as const;

export class Pauses {
  private everything = false;
  private assets: boolean[] = [];

  setEverything(paused: boolean): void {
    this.everything = paused;
  }

  setAsset(asset: number, paused: boolean): void {
    while (this.assets.length <= asset) this.assets.push(false);
    this.assets[asset] = paused;
  }

  /** The `pausedBy` bits for a new market of the asset. */
  bitsOf(asset: number): number {
    const ofAsset = this.assets[asset] === true ? PausedBy.ASSET : 0;
    return ofAsset | (this.everything ? PausedBy.EVERYTHING : 0);
  }

  view(): { everything: boolean; assets: number[] } {
    const assets = [...this.assets.keys()].filter((asset) => this.assets[asset] === true);
    return { everything: this.everything, assets };
  }

  archive(archive: Archive): void {
    this.everything = archive.number(Number(this.everything)) === 1;
    const flag = (paused = false) => archive.number(Number(paused)) === 1;
    this.assets = archivedList(archive, this.assets, flag);
  }
}
