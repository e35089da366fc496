/**
 * What a random client has learned from the exchange's answers: users, markets, and what each user
 * has (orders, deposits, shares, and cursors of unread pages).
 */

export interface Person {
  userId: string;
  username: string;
  password: string;
  token: string;
  /** Whether the partner registered the user. */
  isPartners: boolean;
}

export interface Order {
  userId: string;
  marketId: string;
  orderId: string;
}

export interface Deposit {
  userId: string;
  depositId: string;
}

export interface NamedToken {
  userId: string;
  tokenId: string;
  token: string;
}

export interface OrderGroup {
  userId: string;
  groupId: string;
}

export interface SubAccount {
  /** The user whose sub-account this is. */
  userId: string;
  subAccountId: string;
}

export interface Holding {
  userId: string;
  marketId: string;
  outcome: 'UP' | 'DOWN';
  shares: number;
}

export interface Page {
  cursor: string;
  /** The list's other parameters, which a cursor requires again. */
  query: [string, string][];
}

/** The parts of a request that determine what its answer is about. */
interface Request {
  path: string;
  query: [string, string][];
  headers: { authorization?: string };
  body: unknown;
  person: Person;
}

/** The answer to a successful request. */
// biome-ignore lint/suspicious/noExplicitAny: answers are read field by field
type Success = any;

const PEOPLE_MAX = 60;
const REMEMBERED_MAX = 400;

export class World {
  readonly people: Person[] = [];
  /** Tokens that a password change has revoked. */
  readonly revoked: string[] = [];
  /** Users who may be private, because a request asked for it. */
  readonly hidden = new Set<string>();
  readonly orders: Order[] = [];
  readonly deposits: Deposit[] = [];
  readonly tokens: NamedToken[] = [];
  readonly groups: OrderGroup[] = [];
  readonly subAccounts: SubAccount[] = [];
  readonly holdings: Holding[] = [];
  /** The greatest executed Client-Sequence of each user or named token. */
  readonly numbers = new Map<string, number>();
  /** The next page of each list, by the list's path. */
  readonly pages = new Map<string, Page>();
  /** Ids of markets by state. */
  active: string[] = [];
  ended: string[] = [];
  resolved: string[] = [];

  constructor(readonly partnerKey: string) {}

  /** Records which markets exist, and forgets orders in ended ones. Shares may still pay there. */
  seeMarkets(markets: readonly { id: string; status: string }[]): void {
    const ids = (status: string) =>
      markets.filter((market) => market.status === status).map(({ id }) => id);
    [this.active, this.ended, this.resolved] = [ids('active'), ids('ended'), ids('resolved')];
    const live = this.orders.filter(({ marketId }) => this.active.includes(marketId));
    this.orders.splice(0, this.orders.length, ...live);
  }

  learn(request: Request, answer: Success): void {
    if (answer === null || typeof answer !== 'object') return;
    for (const receipt of answer.results ?? [answer]) this.learnReceipt(receipt);
    const query = request.query.filter(([name]) => name !== 'cursor' && name !== 'userId');
    if (typeof answer.nextCursor === 'string')
      this.pages.set(request.path, { cursor: answer.nextCursor, query });
    if (request.path === '/auth/register') this.meet(request, answer);
    if (request.path === '/auth/tokens' && answer.token !== undefined)
      remember(this.tokens, { userId: request.person.userId, ...answer });
    if (request.path.endsWith('/order-groups') && answer.groupId !== undefined)
      remember(this.groups, { userId: request.person.userId, groupId: answer.groupId });
    if (/^\/users\/\w+\/sub-accounts$/.test(request.path) && answer.username !== undefined)
      remember(this.subAccounts, { userId: request.person.userId, subAccountId: answer.userId });
    if (request.path === '/auth/password') this.changeToken(request, answer.token);
  }

  private learnReceipt({ userId, marketId, orderId, depositId, status, position }: Success): void {
    if (status === 'resting') remember(this.orders, { userId, marketId, orderId });
    if (status === 'active' && depositId !== undefined)
      remember(this.deposits, { userId, depositId });
    if (status === 'closed') forget(this.deposits, (deposit) => deposit.depositId === depositId);
    if (status === 'cancelled') forget(this.orders, (order) => order.orderId === orderId);
    if (position === undefined) return;
    for (const outcome of ['UP', 'DOWN'] as const) {
      forget(
        this.holdings,
        (held) => held.userId === userId && held.marketId === marketId && held.outcome === outcome,
      );
      const shares: number = position[outcome];
      if (shares > 0) remember(this.holdings, { userId, marketId, outcome, shares });
    }
  }

  private meet({ body, headers }: Request, { userId, token }: Success): void {
    const { username, password } = body as Person;
    const isPartners = (headers.authorization ?? '') !== '';
    if (this.people.length < PEOPLE_MAX)
      this.people.push({ userId, username, password, token, isPartners });
  }

  private changeToken({ person, body }: Request, token: string): void {
    remember(this.revoked, person.token);
    person.token = token;
    person.password = (body as { newPassword: string }).newPassword;
  }
}

/** Adds an entry, and evicts the oldest if there are too many. */
function remember<T>(list: T[], entry: T): void {
  if (list.length >= REMEMBERED_MAX) list.shift();
  list.push(entry);
}

function forget<T>(list: T[], isGone: (entry: T) => boolean): void {
  const at = list.findIndex(isGone);
  if (at >= 0) list.splice(at, 1);
}
