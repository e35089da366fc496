/** All request and answer types, for the site. */
export type * from './routes/accounts.js';
export type * from './routes/markets.js';
export type * from './routes/orders.js';
export type * from './routes/partners.js';
export type * from './routes/sign-in.js';
export type * from './routes/status.js';
export type * from './routes/sub-accounts.js';
export type * from './routes/vault.js';
export type * from './terms.js';
