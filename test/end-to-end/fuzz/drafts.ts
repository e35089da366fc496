/**
 * Turns a plan into a meaningful request: with a user, a credential, and existing markets and
 * orders.
 */
import type { Random } from '../../support/workload/random.js';
import type { Plan } from './plans.js';
import type { Holding, Order, Person, SubAccount, World } from './world.js';

export interface Headers {
  [name: string]: string;
  cookie?: string;
  authorization?: string;
  origin?: string;
}

/** A request that can still be changed. */
export interface Draft {
  method: string;
  path: string;
  query: [string, string][];
  headers: Headers;
  /** The body, sent as JSON unless `raw` is set. */
  body: unknown;
  raw?: string | Buffer;
  /** The user whom the request is about. */
  person: Person;
  /** The request's number, if it has one instead of a key. */
  numbered: Numbered | null;
  /** The name of the change that was made to the request. If empty, the request should be valid. */
  spoiltBy: string;
  /** Whether it must fail according to the document. */
  mustFail: boolean;
}

/** A Client-Sequence. */
export interface Numbered {
  /** The owner of the numbers: a user or a named token. */
  of: string;
  number: number;
  /** The greatest number that was known to be executed when the request was made. */
  executed: number;
}

interface BodyFields {
  outcome?: unknown;
  shares?: unknown;
  marketId?: unknown;
  op?: unknown;
}

/** A time after the end of every market of a run. */
const LAST_MS = 8_640_000_000_000;
/** The share of sales of shares that the person owns. */
const COVERED_SHARE = 0.7;

export class Drafting {
  private readonly person: Person;
  /** The order of the person that the request is about, or null. */
  private readonly order: Order | null;
  private readonly holding: Holding | null;
  private readonly subAccount: SubAccount | null;
  /** Whether a user's credential has an effect. */
  private readonly hasUser: boolean;

  constructor(
    private readonly plan: Plan,
    private readonly world: World,
    private readonly random: Random,
    /** Users whom another request of the same moment is about. */
    private readonly busy: ReadonlySet<string>,
  ) {
    this.person = this.somebody();
    this.order = this.own(world.orders);
    this.subAccount = this.own(this.subAccounts());
    this.holding = random.chance(COVERED_SHARE)
      ? (this.own(this.useful()) ?? this.own(world.holdings))
      : null;
    this.hasUser = plan.operation.security.some((scheme) => 'userToken' in scheme);
  }

  draft(): Draft {
    const { plan, person } = this;
    const path = plan.template.replace(/\{(\w+)\}/g, (_, name: string) => this.parameter(name));
    const body = this.body();
    const headers = this.credential();
    const numbered = this.number(headers);
    if (numbered !== null) headers['client-sequence'] = `${numbered.number}`;
    else Object.assign(headers, this.idempotencyKey());
    if (body !== undefined) headers['content-type'] = 'application/json';
    return {
      method: plan.method,
      path,
      query: this.query(path),
      headers,
      body,
      person,
      numbered,
      spoiltBy: '',
      mustFail: false,
    };
  }

  /** Some requests rarely succeed, so users who have what the request needs send it more often. */
  private somebody(): Person {
    const { plan, world, random, busy } = this;
    const isOfDeposit = plan.template.startsWith('/vaults/deposits/');
    const useful: readonly { userId: string }[] = isOfDeposit ? world.deposits : this.useful();
    const isFree = ({ userId }: { userId: string }) => !busy.has(userId);
    const owners = (useful.length > 0 ? useful : this.subAccounts()).filter(isFree);
    if (owners.length === 0 || random.chance(0.2)) return random.pick(world.people.filter(isFree));
    const { userId } = random.pick(owners);
    return world.people.find((person) => person.userId === userId)!;
  }

  /** All shares that can be sold or may pay, if the request is about shares. */
  private useful(): Holding[] {
    const { plan, world } = this;
    const markets = plan.template.endsWith('}/claim') ? world.resolved : world.active;
    const isAboutShares = /\/15m\/.*\/(sell|merge|claim)$/.test(plan.template);
    return isAboutShares ? world.holdings.filter(({ marketId }) => markets.includes(marketId)) : [];
  }

  /** All sub-accounts that meet the request's needs, if it is about sub-accounts. */
  private subAccounts(): SubAccount[] {
    const { plan, world } = this;
    const isAbout = /\/transfers$|\{subAccountId\}/.test(plan.template);
    return isAbout ? world.subAccounts : [];
  }

  private own<T extends { userId: string }>(list: readonly T[]): T | null {
    const own = list.filter(({ userId }) => userId === this.person.userId);
    return own.length === 0 ? null : this.random.pick(own);
  }

  private credential(): Headers {
    const { plan, person, random, world } = this;
    const { security } = plan.operation;
    const mayBeNone = security.some((scheme) => Object.keys(scheme).length === 0);
    if (security.some((scheme) => 'partnerKey' in scheme)) {
      return mayBeNone && random.chance(0.4) ? {} : { authorization: `Bearer ${world.partnerKey}` };
    }
    if (!this.hasUser || (mayBeNone && random.chance(0.4))) return {};
    const named = this.own(world.tokens);
    if (named !== null && random.chance(0.1)) return { 'x-user-token': named.token };
    if (random.chance(0.8)) return { 'x-user-token': person.token };
    return { cookie: `other=1; service-session=${person.token}` };
  }

  /** Each user reuses a few keys. */
  private idempotencyKey(): Headers {
    const { random } = this;
    const { 'Idempotency-Key': made } = this.plan.headers;
    if (made === undefined || random.chance(0.7)) return {};
    return { 'idempotency-key': random.chance(0.5) ? `${made}` : `k${random.whole(1, 9)}` };
  }

  /** Usually a new number, sometimes a used one. */
  private number(headers: Headers): Numbered | null {
    const { random, world, person, plan } = this;
    const isAccepted = plan.operation.parameters?.some(({ name }) => name === 'Client-Sequence');
    if (isAccepted !== true || random.chance(0.75)) return null;
    const token = headers['x-user-token'] ?? person.token;
    const of = token === person.token ? person.userId : token;
    const executed = world.numbers.get(of) ?? 0;
    const number = random.chance(0.3)
      ? random.whole(1, executed + 1)
      : executed + random.whole(1, 9);
    return { of, number, executed };
  }

  private parameter(name: string): string {
    const { plan, random, world, person } = this;
    const made = plan.path[name]!;
    const parts = plan.template.split('/');
    switch (parts[parts.indexOf(`{${name}}`) - 1]) {
      case 'users':
        return this.hasUser ? person.userId : random.pick(world.people).userId;
      case 'orders':
        return this.order?.orderId ?? made;
      case 'sub-accounts':
        return this.subAccount?.subAccountId ?? made;
      case 'tokens':
        return this.own(world.tokens)?.tokenId ?? made;
      case 'order-groups':
        return this.own(world.groups)?.groupId ?? made;
      case 'deposits':
        return this.own(world.deposits)?.depositId ?? made;
      default:
        return this.marketOfPath() ?? made;
    }
  }

  private marketOfPath(): string | null {
    const { template } = this.plan;
    if (template.includes('/orders/{') && this.order !== null) return this.order.marketId;
    if (/\/(sell|merge|claim)$/.test(template) && this.holding !== null)
      return this.holding.marketId;
    return this.market(template.endsWith('/claim'));
  }

  /** Orders go to markets that accept them, claims to those that pay; sometimes the reverse. */
  private market(isClaim: boolean): string | null {
    const { world, random } = this;
    const usual = isClaim ? world.resolved : world.active;
    const from = random.chance(0.85) ? usual : [...world.active, ...world.ended, ...world.resolved];
    return from.length === 0 || random.chance(0.03) ? null : random.pick(from);
  }

  private query(path: string): [string, string][] {
    const { plan, random, world, person } = this;
    const page = world.pages.get(path);
    if (page !== undefined && random.chance(0.5))
      return structuredClone([...page.query, ['cursor', page.cursor]]);
    const { cursor, asset, userId, ...rest } = plan.query;
    const fields: Plan['query'] = rest;
    if (plan.template.endsWith('/quote')) {
      // The document says only in words which of the two fields belongs to which side.
      const [needed, refused] =
        fields.side === 'SELL' ? ['shares', 'amount'] : ['amount', 'shares'];
      fields[needed!] ??= 1;
      delete fields[refused!];
    }
    // The document says only in words that a range of time must not end before it starts.
    const { fromMs, toMs } = fields;
    if (Number(fromMs) > Number(toMs)) [fields.fromMs, fields.toMs] = [toMs, fromMs];
    if (asset !== undefined) fields.asset = random.pick(['BTC', 'eth', 'Btc']);
    const isPartner = plan.operation.security.some((scheme) => 'partnerKey' in scheme);
    // A partner names its user elsewhere in the request; here it must be the same user.
    if (userId !== undefined && !isPartner) fields.userId = this.hasUser ? person.userId : userId;
    return Object.entries(fields).map(([name, value]) => [name, `${value}`]);
  }

  private body(): unknown {
    const { plan } = this;
    const body = this.filled(plan.body);
    if (plan.template.endsWith('/sell')) this.cover(body as BodyFields);
    // A merge of small change: an owner of one outcome may also have this much of the other.
    if (plan.template.endsWith('/merge')) (body as BodyFields).shares = 0.001;
    return body;
  }

  /** A sale of shares that the person owns. */
  private cover(sale: BodyFields): void {
    if (this.holding === null) return;
    sale.outcome = this.holding.outcome;
    sale.shares = Math.min(sale.shares as number, this.holding.shares);
  }

  /** Fills in ids that exist and values that only the person knows. */
  private filled(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((entry) => this.filled(entry));
    if (typeof value !== 'object' || value === null) return value;
    const entries = Object.entries(value).map(([name, field]) => [
      name,
      this.field(name, field) ?? this.filled(field),
    ]);
    const fields: BodyFields = Object.fromEntries(entries);
    if (fields.op === 'claim') fields.marketId = this.market(true) ?? fields.marketId;
    if ((fields.op === 'cancel' || fields.op === 'amend') && this.order !== null)
      fields.marketId = this.order.marketId;
    if (fields.op === 'sell' && this.holding !== null) {
      fields.marketId = this.holding.marketId;
      this.cover(fields);
    }
    return fields;
  }

  private field(name: string, made: unknown): unknown {
    const { plan, random, world, person } = this;
    switch (name) {
      case 'userId':
        return this.hasUser ? person.userId : random.pick(world.people).userId;
      case 'from':
        return person.userId;
      case 'to':
        // The document says only in words that a transfer goes to another account.
        return this.subAccount?.subAccountId ?? (made === person.userId ? `${made}0` : made);
      case 'marketId':
        return this.market(false) ?? made;
      case 'orderId':
        return this.order?.orderId ?? made;
      case 'currentPassword':
        return random.chance(0.8) ? person.password : made;
      case 'referralCode':
        return `Q${`${random.whole(1, 30)}`.padStart(6, '0')}`;
      case 'username':
        return plan.template === '/auth/login' || random.chance(0.1) ? person.username : made;
      case 'password':
        return plan.template === '/auth/login' && random.chance(0.8) ? person.password : made;
      case 'code':
        return random.chance(0.2) ? `shared-${random.whole(1, 9)}` : made;
      case 'allowedAddresses':
        return random.chance(0.5) ? ['127.0.0.0/8', '::1'] : ['192.0.2.1'];
      case 'expiresAtMs':
        return random.chance(0.5) ? LAST_MS - random.whole(1, 9_999) : made;
      case 'reference':
        return random.chance(0.8) ? `r${random.whole(1, 3_000)}` : made;
      default:
        return undefined;
    }
  }
}
