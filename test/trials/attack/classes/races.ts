/** One request on many connections at once: as many succeed as may, and money and shares agree. */
import { type Answer, PASSWORD } from '../../../../bench/http/load/client.js';
import type { RequestFields } from '../../../../bench/http/load/messages.js';
import type { Attack, AttackClass } from '../attack.js';
import { allAtOnce, buy, openMarket, stakeOf, type Trader } from '../methods/client.js';
import { eventually, mustHold } from '../promises.js';
import { PARTNER_KEY, SPEED, type Stage } from '../stage.js';

interface Race {
  requests: RequestFields[];
  /** How many answers of each status; null: `judge` looks at them. */
  statuses: Readonly<Record<number, number>> | null;
  /** What must be true of money, shares and answers afterwards. */
  judge(answers: readonly Answer[]): void | Promise<void>;
}

const RUNNERS = 40;
const repeated = (request: RequestFields): RequestFields[] =>
  Array.from({ length: RUNNERS }, () => request);
const each = (make: (i: number) => RequestFields): RequestFields[] =>
  Array.from({ length: RUNNERS }, (_, i) => make(i));
/** Real time that a race needs its market for. */
const RACE_MS = 3_000;

const race = (name: string, done: string, prepare: (stage: Stage) => Promise<Race>): Attack => ({
  name,
  done: `${done}, on ${RUNNERS} connections at once`,
  run: async (stage) => {
    const { requests, statuses, judge } = await prepare(stage);
    const answers = await allAtOnce(stage.exchange, requests);
    const counts: Record<number, number> = {};
    for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
    const [got, due] = [JSON.stringify(counts), JSON.stringify(statuses ?? counts)];
    mustHold(
      got === due,
      `answers by status: ${got}, and should be ${due}; such as ${answers.at(-1)!.text}`,
    );
    await judge(answers);
    return `answers by status: ${got}`;
  },
});

const winners = (answers: readonly Answer[]) => answers.filter(({ status }) => status < 300);

function mustBeSame(answers: readonly Answer[]): void {
  const texts = new Set(winners(answers).map(({ text }) => text));
  mustHold(texts.size === 1, `the same request had ${texts.size} answers`);
}

/** Exactly one of them says that it is the first. */
function mustBeReplayed(answers: readonly Answer[]): void {
  mustBeSame(answers);
  const isReplay = ({ head }: Answer) => /\r\nidempotency-replayed: true/i.test(head);
  const first = winners(answers).filter((answer) => !isReplay(answer));
  mustHold(first.length === 1, `${first.length} answers claim to be the first`);
}

async function sharesOf(trader: Trader, marketId: string, outcome: string): Promise<number> {
  const { json } = await trader.send({ path: `/users/${trader.userId}/positions` });
  const found = json.positions.find(
    // biome-ignore lint/suspicious/noExplicitAny: an entry of the answer
    (each: any) => each.marketId === marketId && each.outcome === outcome,
  );
  return found?.shares ?? 0;
}

async function owner(stage: Stage, outcome: string) {
  const trader = await stage.register();
  const marketId = await openMarket(trader, RACE_MS * SPEED);
  const { shares } = await buy(trader, marketId, outcome);
  await trader.noteBalance();
  return { trader, marketId, shares };
}

const partner = { Authorization: `Bearer ${PARTNER_KEY}` };
const transfer = (
  kind: 'deposits' | 'withdrawals',
  { userId }: Trader,
  amount: number,
  reference: string,
): RequestFields => ({
  method: 'POST',
  path: `/partner/${kind}`,
  headers: partner,
  body: { userId, amount, reference },
});

const oversell = race('oversell', 'sell all of the same shares', async (stage) => {
  const { trader, marketId, shares } = await owner(stage, 'UP');
  const body = { outcome: 'UP', shares, price: 0.999, timeInForce: 'GTC' };
  const request = trader.signed({ method: 'POST', path: `/markets/15m/${marketId}/sell`, body });
  return {
    requests: repeated(request),
    statuses: { 200: 1, 422: RUNNERS - 1 },
    judge: () => trader.mustHaveSpent(0),
  };
});

const oversellAtMarket = race(
  'oversell at market',
  'sell all of the same shares at any price',
  async (stage) => {
    const { trader, marketId, shares } = await owner(stage, 'DOWN');
    const body = { operations: [{ op: 'sell', marketId, outcome: 'DOWN', shares }] };
    return {
      requests: repeated(trader.signed({ method: 'POST', path: '/batch', body })),
      statuses: { 200: RUNNERS },
      judge: async (answers) => {
        const sold = answers.reduce((sum, { json }) => sum + (json.results[0].shares ?? 0), 0);
        const left = await sharesOf(trader, marketId, 'DOWN');
        const isExact = Math.round(1_000 * (left + sold)) === Math.round(1_000 * shares);
        mustHold(isExact && left >= 0, `${sold} were sold of ${shares}, and ${left} are left`);
      },
    };
  },
);

const overspend = race('overspend', 'stake 300,000 of 1,000,000 dollars', async (stage) => {
  const trader = await stage.register();
  return {
    requests: each((i) => trader.signed(stakeOf(300_000, `overspend:${i}`))),
    statuses: { 201: 3, 422: RUNNERS - 3 },
    judge: () => trader.mustHaveSpent(900_000),
  };
});

const doubleClaim = race('double claim', "claim the same market's winnings", async (stage) => {
  const { trader, marketId } = await owner(stage, 'UP');
  await buy(trader, marketId, 'DOWN');
  await eventually('the market is resolved', 60_000, async () => {
    return (await trader.send({ path: `/markets/${marketId}` })).json.status === 'resolved';
  });
  await trader.noteBalance();
  const path = `/markets/15m/${marketId}/claim`;
  return {
    requests: repeated(trader.signed({ method: 'POST', path, body: {} })),
    statuses: { 200: 1, 409: RUNNERS - 1 },
    judge: (answers) => trader.mustHaveSpent(-winners(answers)[0]!.json.payout),
  };
});

const doubleUnstake = race('double unstake', 'unstake the same deposit', async (stage) => {
  const trader = await stage.register();
  const { depositId } = (await trader.stake(100, 'staked')).json;
  const path = `/vaults/deposits/${depositId}/unstake`;
  return {
    requests: repeated(trader.signed({ method: 'POST', path, body: {} })),
    statuses: { 200: 1, 409: RUNNERS - 1 },
    judge: (answers) => trader.mustHaveSpent(-winners(answers)[0]!.json.yieldPaid),
  };
});

const oneKey = race('one key', 'the same stake under the same idempotency key', async (stage) => {
  const trader = await stage.register();
  return {
    requests: repeated(trader.signed(stakeOf(7, 'one-key'))),
    statuses: { 201: RUNNERS },
    judge: async (answers) => {
      mustBeReplayed(answers);
      await trader.mustHaveSpent(7);
    },
  };
});

const oneKeyManyBodies = race(
  'one key, many bodies',
  'other stakes under the same idempotency key',
  async (stage) => {
    const trader = await stage.register();
    return {
      requests: each((i) => trader.signed(stakeOf(1 + i, 'many-bodies'))),
      statuses: { 201: 1, 422: RUNNERS - 1 },
      judge: (answers) => trader.mustHaveSpent(winners(answers)[0]!.json.amount),
    };
  },
);

const oneReference = race('one reference', 'the same deposit of a partner', async (stage) => {
  const trader = await stage.registerForPartner();
  return {
    requests: repeated(transfer('deposits', trader, 50, `deposit-${trader.userId}`)),
    statuses: { 200: RUNNERS },
    judge: async (answers) => {
      mustBeSame(answers);
      await trader.mustHaveSpent(-50);
    },
  };
});

const oneName = race('one name', 'register the same username', (stage) => {
  const username = `same-${stage.random.whole(1, 999_999)}`;
  const body = { username, password: PASSWORD };
  return Promise.resolve({
    requests: repeated({ method: 'POST', path: '/auth/register', body }),
    statuses: { 201: 1, 409: RUNNERS - 1 },
    judge: () => {},
  });
});

const withdrawals = race('withdrawals', 'withdraw 600,000 of 1,000,000 dollars', async (stage) => {
  const trader = await stage.registerForPartner();
  return {
    requests: each((i) => transfer('withdrawals', trader, 600_000, `out-${trader.userId}-${i}`)),
    statuses: { 200: 1, 422: RUNNERS - 1 },
    judge: () => trader.mustHaveSpent(600_000),
  };
});

const withdrawWhileStaking = race(
  'withdrawals and stakes',
  'withdraw and stake 600,000 each',
  async (stage) => {
    const trader = await stage.registerForPartner();
    const stake = trader.signed(stakeOf(600_000, 'either'));
    const withdrawal = transfer('withdrawals', trader, 600_000, `or-${trader.userId}`);
    return {
      requests: each((i) => (i % 2 === 0 ? withdrawal : stake)),
      statuses: null,
      judge: async (answers) => {
        const outcomes = [0, 1].map((kind) => {
          const statuses = answers.filter((_, i) => i % 2 === kind).map(({ status }) => status);
          return [...new Set(statuses)].join(' and ');
        });
        const isEither = ['200 422', '422 201'].includes(outcomes.join(' '));
        mustHold(isEither, `withdrawals were answered ${outcomes[0]}, stakes ${outcomes[1]}`);
        await trader.mustHaveSpent(600_000);
      },
    };
  },
);

export const races: AttackClass = {
  name: 'races',
  attacks: [
    oversell,
    oversellAtMarket,
    overspend,
    doubleClaim,
    doubleUnstake,
    oneKey,
    oneKeyManyBodies,
    oneReference,
    oneName,
    withdrawals,
    withdrawWhileStaking,
  ],
};
