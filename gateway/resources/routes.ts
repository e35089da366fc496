/** All routes of the API. */
import type { Route } from '../http/route.js';
import { accountHistoryRoutes } from './account-history/routes.js';
import { userRoutes } from './accounts/routes.js';
import { batchRoutes } from './batch/routes.js';
import { cancelAfterRoutes } from './cancel-after/routes.js';
import { dayFileRoutes } from './day-files/routes.js';
import { candleRoutes } from './history/candles.js';
import { historyRoutes } from './history/routes.js';
import { marketEventRoutes } from './market-events/routes.js';
import { marketRoutes } from './markets/routes.js';
import { orderGroupRoutes } from './order-groups/routes.js';
import { tradingRoutes } from './orders/routes.js';
import { partnerRoutes } from './partners/routes.js';
import { signInRoutes } from './sign-in/routes.js';
import { tokenRoutes } from './sign-in/tokens.js';
import { operationRoutes } from './status/routes.js';
import { subAccountRoutes } from './sub-accounts/routes.js';
import { vaultRoutes } from './vault/routes.js';

/** If operators have their own address, only that address serves /metrics. */
export function routesOf(hasOperations: boolean): readonly Route[] {
  return hasOperations ? ROUTES.filter(({ path }) => path !== '/metrics') : ROUTES;
}

export const ROUTES: readonly Route[] = [
  ...marketRoutes,
  ...historyRoutes,
  ...candleRoutes,
  ...marketEventRoutes,
  ...dayFileRoutes,
  ...accountHistoryRoutes,
  ...tradingRoutes,
  ...batchRoutes,
  ...cancelAfterRoutes,
  ...orderGroupRoutes,
  ...userRoutes,
  ...subAccountRoutes,
  ...vaultRoutes,
  ...signInRoutes,
  ...tokenRoutes,
  ...partnerRoutes,
  ...operationRoutes,
];
