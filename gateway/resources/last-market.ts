/** The last market named or written: most requests, operations and receipts are of few markets. */
import { type Assets, marketIdNumber, marketIdText } from '../../engine/interface/notation.js';
import { bytesOfText, type JsonScanner } from '../json/scanner.js';

const last = {
  assets: null as Assets | null,
  marketId: 0,
  name: '',
  /** In JSON, made when a body names the market. */
  quoted: null as Uint8Array | null,
};

function remember(assets: Assets, marketId: number): void {
  last.assets = assets;
  last.marketId = marketId;
  last.name = marketIdText(assets, marketId);
  last.quoted = null;
}

/** {@link marketIdNumber}: 0 for a name that no market can have. */
export function marketNumber(assets: Assets, name: string): number {
  if (name === last.name && assets === last.assets) return last.marketId;
  const marketId = marketIdNumber(assets, name);
  if (marketId !== 0) remember(assets, marketId);
  return marketId;
}

export function scannedMarket(scanner: JsonScanner, assets: Assets): number {
  if (last.assets === assets) {
    last.quoted ??= bytesOfText(`"${last.name}"`);
    if (scanner.skipText(last.quoted)) return last.marketId;
  }
  return marketNumber(assets, scanner.textValue());
}

export function marketName(assets: Assets, marketId: number): string {
  if (last.marketId !== marketId || last.assets !== assets) remember(assets, marketId);
  return last.name;
}
