/**
 * Random requests, valid and invalid, generated from the contract. Each is answered as the contract
 * says, none causes a server error, no impossible request succeeds, and valid ones are understood.
 * Afterwards every micro-dollar is accounted for, and the journal alone gives the same state. The
 * seed is printed; SEED repeats the requests.
 */

import { rm } from 'node:fs/promises';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { Pool } from 'undici';
import { expect, test } from 'vitest';
import type { Engine } from '../../engine/engine.js';
import { numberOfKey } from '../../engine/interface/client-sequence.js';
import { Code } from '../../engine/interface/codes.js';
import type { Command } from '../../engine/interface/commands.js';
import { RESULT_HEAD_LENGTH, ResultHead } from '../../engine/interface/results.js';
import { ERRORS } from '../../gateway/commands/errors.js';
import type { JsonSchema } from '../../gateway/contract/openapi.js';
import { DECIMAL_PLACES } from '../../gateway/json/fields.js';
import {
  FORMATS,
  operationsOf,
  programContract,
  RULES_KEYWORD,
} from '../gateway/contract/check.js';
import { extent, SEED } from '../support/extent.js';
import { replayJournal } from '../support/journal-fixture.js';
import { PARTNER_KEY, PARTNER_KEYS, PASSWORD, TestServer } from '../support/server.js';
import { Random } from '../support/workload/random.js';
import { type Draft, Drafting, type Numbered } from './fuzz/drafts.js';
import { type Plan, randomPlans } from './fuzz/plans.js';
import { SPOILS } from './fuzz/spoils.js';
import { World } from './fuzz/world.js';

const REQUESTS = extent(100_000, 1_000);
/**
 * With this many requests, each operation succeeds at least once, and each way to spoil a request
 * is tried.
 */
const ENOUGH_REQUESTS = 50_000;
/** 20,000 requests take half a minute, or several minutes on a busy machine. */
const LIMIT_MS = 300_000 + 12 * REQUESTS;
/** Time passes between rounds, so that markets end and resolve. */
const ROUNDS = 20;
const ROUND_MS = 150_000;
/** In `npm test` one request comes after the other, so that a seed gives the same answers. */
const CONNECTIONS = extent(1, 0) > 0 ? 16 : 1;
const PEOPLE = 24;
const SPOILT_SHARE = 0.4;

const contract = programContract();
const { document } = contract;

/** Decimals are rounded to their places, which does not change a valid value. */
const ajv = new Ajv2020({ strict: false, formats: FORMATS, keywords: [RULES_KEYWORD] }).addKeyword({
  keyword: DECIMAL_PLACES,
  type: 'number',
  schemaType: 'number',
  validate: (places: number, value: number) => Number(value.toFixed(places)) === value,
});
const validators = new Map<JsonSchema, ValidateFunction>();
function fits(schema: JsonSchema, value: unknown): boolean {
  const name = schema.$ref?.split('/').at(-1);
  const whole = name === undefined ? schema : document.components.schemas[name]!;
  let validate = validators.get(whole);
  if (validate === undefined) {
    validate = ajv.compile({ ...whole, components: document.components });
    validators.set(whole, validate);
  }
  return validate(value);
}

/**
 * Details of `invalid_request` that a valid request may get, for rules that the document states
 * only in words.
 */
const IN_WORDS =
  /^(asset|cursor|expiresAtMs|marketId|referralCode|sequence|shares|timeoutMs|operations\.\d+\.shares)$/;
/** Codes that a valid request never gets. */
const MISUNDERSTOOD = new Set([
  'invalid_json',
  'missing_token',
  'invalid_token',
  'user_mismatch',
  'cross_site_request',
  'partner_key_required',
  'route_not_found',
  'method_not_allowed',
  'body_too_large',
  'unsupported_media_type',
]);

interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
}

class Fuzz {
  readonly world = new World(PARTNER_KEY);
  readonly statuses = new Map<number, number>();
  readonly codes = new Map<string, number>();
  readonly succeeded = new Map<string, number>();
  readonly spoilt = new Map<string, number>();
  mustFail = 0;
  private readonly pool: Pool;

  constructor(readonly server: TestServer) {
    this.pool = new Pool(server.api.url, { connections: CONNECTIONS });
  }

  /**
   * Sends the requests in groups. All of a group are drafted before any is sent, and judged in the
   * order of the plans, so drafts do not depend on the order of answers. The requests of a group
   * are about different people, so a person's token, keys and numbers change between groups only.
   */
  async run(plans: readonly Plan[]): Promise<void> {
    for (let at = 0; at < plans.length; at += CONNECTIONS) {
      const busy = new Set<string>();
      const sent = plans.slice(at, at + CONNECTIONS).map((plan) => {
        const draft = this.draft(plan, busy);
        busy.add(draft.person.userId);
        return { plan, draft, answer: this.send(draft) };
      });
      for (const { plan, draft, answer } of sent) this.judge(plan, draft, await answer);
    }
  }

  close(): Promise<void> {
    return this.pool.close();
  }

  private succeededOnce(name: string): void {
    this.succeeded.set(name, (this.succeeded.get(name) ?? 0) + 1);
  }

  private async send(draft: Draft): Promise<Answer> {
    const { method, headers } = draft;
    const response = await this.pool.request({
      method: method as 'GET',
      path: targetOf(draft),
      headers,
      body: bodyOf(draft),
    });
    const text = await response.body.text();
    return { status: response.statusCode, headers: response.headers, text };
  }

  private draft(plan: Plan, busy: ReadonlySet<string>): Draft {
    const random = new Random(`${SEED}/${plan.seed}`);
    const draft = new Drafting(plan, this.world, random, busy).draft();
    this.spoilSome(draft, plan, random);
    if (draft.method === 'PUT' && draft.path.endsWith('/privacy'))
      this.world.hidden.add(userOf(draft.path));
    return draft;
  }

  private spoilSome(draft: Draft, plan: Plan, random: Random): void {
    if (!random.chance(SPOILT_SHARE)) return;
    const weights = Object.fromEntries(
      Object.entries(SPOILS).map(([name, { weight }]) => [name, weight]),
    );
    const item = document.paths[plan.template]!;
    while (draft.spoiltBy === '') {
      const name = random.weighted(weights);
      const mustFail = SPOILS[name]!.spoil(draft, { plan, item, world: this.world, random });
      if (mustFail === null) continue;
      draft.spoiltBy = name;
      draft.mustFail = mustFail || !bodyFits(plan, draft);
      this.spoilt.set(name, (this.spoilt.get(name) ?? 0) + 1);
      if (draft.mustFail) this.mustFail++;
    }
  }

  /** Whether the partner registered the user in the body; undefined if unknown. */
  private isOfPartner({ body }: Draft): boolean | undefined {
    const { userId } = (body ?? {}) as { userId?: unknown };
    return this.world.people.find((person) => person.userId === userId)?.isPartners;
  }

  private judge(plan: Plan, draft: Draft, answer: Answer): void {
    try {
      this.judgeAnswer(plan, draft, answer);
    } catch (error) {
      const { method, headers, spoiltBy } = draft;
      const sent = `${method} ${targetOf(draft)} ${JSON.stringify(headers)} ${`${bodyOf(draft)}`.slice(0, 3_000)}`;
      throw new Error(`seed ${SEED}, changed by "${spoiltBy}": ${sent}`, { cause: error });
    }
  }

  private judgeAnswer(plan: Plan, draft: Draft, answer: Answer): void {
    const { status, text } = answer;
    contract.check(draft.method, draft.path, answer);
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
    if (draft.spoiltBy === '' && draft.numbered !== null) this.judgeNumber(draft.numbered, answer);
    if (status < 400) {
      if (plan.template === WITHDRAWALS) expect(this.isOfPartner(draft), text).not.toBe(false);
      expect(draft.mustFail, `it must fail, but succeeded: ${text}`).toBe(false);
      if (draft.spoiltBy === '') this.succeededOnce(`${plan.method} ${plan.template}`);
      const isJson = `${answer.headers['content-type']}`.startsWith('application/json');
      if (text !== '' && isJson && draft.method === plan.method)
        this.world.learn(draft, JSON.parse(text));
      return;
    }
    expect(status === 503 || status < 500, text).toBe(true);
    if (text === '') return;
    const { code, details } = JSON.parse(text).error;
    this.codes.set(code, (this.codes.get(code) ?? 0) + 1);
    if (draft.spoiltBy !== '') return;
    if (plan.template === WITHDRAWALS && code === 'user_mismatch') {
      expect(this.isOfPartner(draft), text).toBe(false);
      return;
    }
    const isHidden = plan.method === 'GET' && this.world.hidden.has(userOf(draft.path));
    if (isHidden && (code === 'missing_token' || code === 'user_mismatch')) return;
    expect(MISUNDERSTOOD.has(code), text).toBe(false);
    if (code === 'invalid_request') {
      expect(
        Object.keys(details).filter((name) => !IN_WORDS.test(name)),
        text,
      ).toEqual([]);
    }
  }

  /** An executed number is refused permanently. */
  private judgeNumber({ of, number, executed }: Numbered, { status, text }: Answer): void {
    const { numbers } = this.world;
    const last = numbers.get(of) ?? 0;
    if (status < 400) {
      expect(number, `${executed} had been executed: ${text}`).toBeGreaterThan(executed);
      numbers.set(of, Math.max(last, number));
    }
    const { error } = JSON.parse(text || '{}');
    if (error?.code !== STALE) return;
    expect(error.details.last).toBeGreaterThanOrEqual(number);
    numbers.set(of, Math.max(last, error.details.last));
  }
}

function targetOf({ path, query }: Draft): string {
  return `/api${path}${query.length === 0 ? '' : `?${new URLSearchParams(query)}`}`;
}

function bodyOf({ raw, body }: Draft): string | Buffer | null {
  return raw ?? (body === undefined ? null : JSON.stringify(body));
}

/** The user in a path such as `/users/u7/trades`. */
function userOf(path: string): string {
  return path.split('/')[2]!;
}

const STALE = 'client_sequence_stale';
const WITHDRAWALS = '/partner/withdrawals';

/** Whether the body fits the schema; also true for bytes, which cannot be checked here. */
function bodyFits({ operation, method }: Plan, draft: Draft): boolean {
  const schema = operation.requestBody?.content['application/json']?.schema;
  const { raw, body } = draft;
  if (schema === undefined || draft.method !== method || typeof raw === 'object') return true;
  try {
    return fits(schema, JSON.parse(raw ?? JSON.stringify(body) ?? '{}'));
  } catch {
    return false;
  }
}

/** Time passes and prices move; markets open, end and resolve. */
async function passTime({ server, world }: Fuzz, random: Random): Promise<void> {
  const untilMs = server.clock.nowMs() + ROUND_MS;
  while (server.clock.nowMs() < untilMs) {
    server.clock.set(server.clock.nowMs() + 30_000);
    server.feed.deliver('BTC', random.whole(90_000, 110_000));
    server.feed.deliver('ETH', random.whole(2_000, 4_000));
  }
  await server.advance();
  const { json, status, text } = await server.api.read('/markets?limit=200');
  expect(status, text).toBe(200);
  world.seeMarkets(json.markets);
}

async function meetPeople({ server, world }: Fuzz): Promise<void> {
  for (let i = 0; i < PEOPLE; i++) {
    const isPartners = i % 3 !== 0;
    const name = `person-${i}`;
    const person = isPartners ? await server.registerByPartner(name) : await server.register(name);
    world.people.push({ ...person, password: PASSWORD, isPartners });
  }
}

/** Checks against the journal that the executed numbers of a token only grow. */
class ExecutedNumbers {
  executed = 0;
  stale = 0;
  private readonly last = new Map<string, number>();

  applied({ result }: Engine, command: Command): void {
    if (!('idempotencyKey' in command) || command.idempotencyKey === null) return;
    const numbered = numberOfKey(command.idempotencyKey);
    if (numbered === null) return;
    const { tokenId, clientSequence } = numbered;
    const token = `${command.userId}:${tokenId}`;
    const last = this.last.get(token) ?? 0;
    const code = result.values[ResultHead.code];
    if (code === Code.client_sequence_stale) {
      this.stale++;
      expect(result.values[RESULT_HEAD_LENGTH]).toBe(last);
      expect(clientSequence).toBeLessThanOrEqual(last);
    } else if (code !== Code.invalid_command && code !== Code.token_not_found) {
      this.executed++;
      expect(clientSequence).toBeGreaterThan(last);
      this.last.set(token, clientSequence);
    }
  }
}

test(
  `${REQUESTS} random requests`,
  async () => {
    process.stdout.write(`random requests: SEED=${SEED}\n`);
    const startedMs = performance.now();
    const server = await TestServer.withMarket({ partnerKeys: PARTNER_KEYS });
    const fuzz = new Fuzz(server);
    const plans = fc.sample(randomPlans(document, fits), {
      seed: new Random(SEED).whole(0, 2 ** 31 - 1),
      numRuns: REQUESTS,
    });
    const madeMs = performance.now();
    await meetPeople(fuzz);
    const random = new Random(SEED);
    const each = Math.ceil(REQUESTS / ROUNDS);
    for (let round = 0; round < ROUNDS; round++) {
      await passTime(fuzz, random);
      await fuzz.run(plans.slice(round * each, (round + 1) * each));
    }
    const { statuses, codes, succeeded, spoilt, mustFail } = fuzz;
    const count = (isOf: (status: number) => boolean) =>
      [...statuses].reduce((sum, [status, n]) => (isOf(status) ? sum + n : sum), 0);
    const total = count(() => true);
    const successes = count((status) => status < 300);
    const [rarest] = [...succeeded].sort(([, a], [, b]) => a - b);
    const seconds = (fromMs: number) => ((performance.now() - fromMs) / 1_000).toFixed(1);
    process.stdout.write(
      `${total} requests in ${seconds(startedMs)} s (${seconds(madeMs)} s of sending): ${successes} succeeded, ` +
        `${mustFail} could not succeed; the rarest success ${rarest?.join(': ')}; ${JSON.stringify(Object.fromEntries([...statuses].sort()))}; ` +
        `never told: ${Object.keys(ERRORS)
          .filter((code) => !codes.has(code))
          .join(' ')}\n`,
    );
    await fuzz.close();

    expect(total).toBeGreaterThanOrEqual(REQUESTS);
    expect(successes / total).toBeGreaterThan(0.25);
    expect(mustFail / total).toBeGreaterThan(0.15);
    const operations = operationsOf(document).map(
      ({ path, method }) => `${method.toUpperCase()} ${path}`,
    );
    const failed = operations.filter((name) => name !== 'GET /stream' && !succeeded.has(name));
    const spoils = Object.keys(SPOILS);
    const untried = spoils.filter((name) => !spoilt.has(name));
    if (REQUESTS < ENOUGH_REQUESTS) {
      expect(failed.length).toBeLessThan(operations.length / 4);
      expect(untried.length).toBeLessThan(spoils.length / 4);
    } else expect([failed, untried]).toEqual([[], []]);

    const { engine } = server.exchange.sequencer;
    await server.durable();
    engine.checkInvariants();
    await server.close();
    const numbers = new ExecutedNumbers();
    const replayed = await replayJournal(server.folder, (engine, command) =>
      numbers.applied(engine, command),
    );
    expect(numbers.stale).toBeGreaterThan(0);
    expect(numbers.executed).toBeGreaterThan(0);
    replayed.checkInvariants();
    expect([replayed.sequence, replayed.digest()]).toEqual([engine.sequence, engine.digest()]);
    await rm(server.folder, { recursive: true });
  },
  LIMIT_MS,
);
