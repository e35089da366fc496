/** A copy of the exchange's state, which does not change when the engine goes on. */
import type { Engine } from '../../../../engine/engine.js';
import { marketIdNumber } from '../../../../engine/interface/notation.js';
import type {
  AccountView,
  FundsView,
  MarketFundsView,
  MarketView,
  OrderGroupView,
  OrderView,
  PositionView,
  VaultDepositView,
} from '../../../../engine/interface/views.js';

export interface HeldPosition extends PositionView {
  userId: number;
}

export interface KnownMarket extends MarketView, MarketFundsView {}

export interface StateView {
  sequence: number;
  atMs: number;
  digest: string;
  userCount: number;
  funds: FundsView;
  assets: { asset: number; priceMicros: number | null }[];
  users: AccountView[];
  markets: KnownMarket[];
  orders: OrderView[];
  orderGroups: OrderGroupView[];
  positions: HeldPosition[];
  deposits: VaultDepositView[];
  /** Whether the engine has the market of the filter. */
  hasMarket: boolean;
}

export interface StateViewFilter {
  userId: number | null;
  /** A market id such as btc-15m-1763700300. */
  market: string | null;
}

/** null in a filter: all users, all markets. */
export function stateViewOf(engine: Engine, { userId, market }: StateViewFilter): StateView {
  const marketId = market === null ? null : marketIdNumber(engine, market);
  const isWanted = (id: number) => marketId === null || id === marketId;
  const userIds =
    userId === null ? Array.from({ length: engine.userCount }, (_, i) => i + 1) : [userId];
  const known = userIds.filter((id) => id <= engine.userCount);
  return {
    sequence: engine.sequence,
    atMs: engine.nowMs,
    digest: engine.digest(),
    userCount: engine.userCount,
    funds: engine.funds(),
    assets: Array.from({ length: engine.assetCount }, (_, asset) => ({
      asset,
      priceMicros: engine.assetPriceMicros(asset),
    })),
    users: known.map((id) => engine.account(id)!),
    markets: engine
      .marketIds()
      .filter(isWanted)
      .map((id) => ({ ...engine.market(id)!, ...engine.marketFunds(id)! })),
    orders: known.flatMap((id) => engine.orders(id).filter((order) => isWanted(order.marketId))),
    orderGroups: known.flatMap((id) => engine.orderGroups(id)),
    positions: known.flatMap((id) =>
      engine
        .positions(id)
        .filter((position) => isWanted(position.marketId))
        .map((position) => ({ ...position, userId: id })),
    ),
    deposits: known.flatMap((id) => engine.vaultDeposits(id)),
    hasMarket: marketId !== null && engine.hasMarket(marketId),
  };
}
