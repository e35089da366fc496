/** The examples of the vault. A test gets each of them from the exchange. */
import type { RouteExample } from '../../http/route.js';

const DEPOSIT = {
  depositId: 'd1',
  vaultId: 'flex',
  userId: 'u2',
  amount: 1000,
  accruedYield: 0,
  claimedYield: 0,
  status: 'active',
  stakedAtMs: 1763700300000,
  earnsFromMs: 1763701200000,
};

export const vaults: RouteExample = {
  response: {
    vaults: [
      {
        id: 'flex',
        name: 'Flex vault',
        currency: 'USD',
        staked: 1000,
        deposits: 1,
        feeShare: 0.4,
        yieldPaid: 0,
        apr: 0,
        minimumStake: 1,
      },
    ],
    sequence: 9,
  },
};

export const stake: RouteExample = {
  request: { amount: 1000 },
  response: {
    ...DEPOSIT,
    balance: { available: 9200.25, held: 0 },
    sequence: 9,
    atMs: 1763700300000,
  },
};

export const unstake: RouteExample = {
  response: {
    ...DEPOSIT,
    claimedYield: 0.051,
    status: 'closed',
    returned: 1000,
    yieldPaid: 0,
    balance: { available: 10219.6235, held: 0 },
    sequence: 52,
    atMs: 1763701202000,
  },
};

export const claimYield: RouteExample = {
  response: {
    ...DEPOSIT,
    claimedYield: 0.051,
    claimed: 0.051,
    balance: { available: 9219.6235, held: 0 },
    sequence: 51,
    atMs: 1763701202000,
  },
};

export const deposits: RouteExample = {
  response: { deposits: [DEPOSIT], nextCursor: null, sequence: 17 },
};
