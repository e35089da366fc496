/** All routes of the API. */
import type { Route } from './route.js';
import { batchRoutes } from './routes/batch.js';
import { historyRoutes } from './routes/history.js';
import { marketRoutes } from './routes/markets.js';
import { operationRoutes } from './routes/operations.js';
import { partnerRoutes } from './routes/partners.js';
import { signInRoutes } from './routes/sign-in.js';
import { tradingRoutes } from './routes/trading.js';
import { userRoutes } from './routes/users.js';
import { vaultRoutes } from './routes/vaults.js';

export const ROUTES: readonly Route[] = [
  ...marketRoutes,
  ...historyRoutes,
  ...tradingRoutes,
  ...batchRoutes,
  ...userRoutes,
  ...vaultRoutes,
  ...signInRoutes,
  ...partnerRoutes,
  ...operationRoutes,
];
