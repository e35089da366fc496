/**
 * A client that trades over a bad network: requests and answers are delayed, lost or duplicated.
 * Every command has a key, or for some clients a number (Client-Sequence), and is sent until it is
 * answered.
 *
 * Invariant, which the simulation checks: all answers to one key are equal; of the answers to one
 * number, at most one reports its execution, and the others name a number that is at least as
 * great.
 */

import { numberedKey } from '../../../engine/interface/client-sequence.js';
import { Code } from '../../../engine/interface/codes.js';
import type { Command, UserCommand } from '../../../engine/interface/commands.js';
import { Outcome, TimeInForce } from '../../../engine/interface/domain.js';
import { MAX_TIME_MS } from '../../../engine/interface/limits.js';
import { RESULT_HEAD_LENGTH, ResultHead } from '../../../engine/interface/results.js';
import type { Random } from '../../support/workload/random.js';
import { Broken, type Reply } from './exchange.js';
import type { World } from './world.js';

export type KeyedCommand = Command & UserCommand;

export interface Request {
  command: KeyedCommand;
  /** The first answer, or null if none has come. */
  reply: Reply | null;
  /** The answer that reports the execution, if the command has a number and this answer came. */
  executed: Reply | null;
}

/** Whether the command was refused because its number was not greater than the last executed. */
export function isStale({ values }: Reply): boolean {
  return values[ResultHead.code] === Code.client_sequence_stale;
}

/** Sends a command over a perfect network. */
export type Deliver = (command: KeyedCommand, reply: (reply: Reply) => void) => void;

const LATENCY_MS = 40;
const TIMEOUT_MS = 2_000;
const PAUSE_MS = 4_000;
const LOST = 0.05;
const DOUBLED = 0.05;

export class Client {
  readonly requests: Request[] = [];
  private isStopped = false;
  private waiting: Request | null = null;

  constructor(
    private readonly world: World,
    readonly user: { userId: number; isNumbered: boolean },
    private readonly markets: () => { active: number[]; ended: number[] },
    private readonly deliver: Deliver,
  ) {}

  start(): void {
    this.world.after(this.world.random.whole(0, PAUSE_MS), () => this.next());
  }

  /** Sends no new commands, but repeats unanswered ones until they are answered. */
  stop(): void {
    this.isStopped = true;
  }

  get isDone(): boolean {
    return this.waiting === null;
  }

  private next(): void {
    if (this.isStopped) return;
    const number = this.requests.length + 1;
    const key = this.user.isNumbered ? numberedKey(0, number) : `${this.user.userId}:${number}`;
    const command = choose(this.world.random, this.user.userId, key, this.markets(), this.requests);
    const request: Request = { command, reply: null, executed: null };
    this.requests.push(request);
    this.waiting = request;
    this.send(request);
  }

  private send(request: Request): void {
    const { world } = this;
    const { random } = world;
    const copies = random.chance(LOST) ? 0 : random.chance(DOUBLED) ? 2 : 1;
    for (let i = 0; i < copies; i++)
      world.after(random.whole(1, LATENCY_MS), () =>
        this.deliver(request.command, (reply) => {
          if (random.chance(LOST)) return;
          world.after(random.whole(1, LATENCY_MS), () => this.answered(request, reply));
        }),
      );
    world.after(TIMEOUT_MS, () => {
      if (this.waiting === request) this.send(request);
    });
  }

  private answered(request: Request, reply: Reply): void {
    if (this.user.isNumbered) this.numberAnswered(request, reply);
    if (request.reply !== null) {
      if (this.user.isNumbered) return;
      if (String(request.reply.values) !== String(reply.values))
        throw new Broken(`the key ${request.command.idempotencyKey} has two answers`);
      return;
    }
    request.reply = reply;
    this.waiting = null;
    const pauseMs = this.world.random.whole(0, PAUSE_MS);
    this.world.after(pauseMs, () => this.next());
  }

  private numberAnswered(request: Request, reply: Reply): void {
    const { idempotencyKey } = request.command;
    if (!isStale(reply)) {
      if (request.executed !== null) throw new Broken(`${idempotencyKey} was executed twice`);
      request.executed = reply;
      return;
    }
    const number = this.requests.indexOf(request) + 1;
    const last = reply.values[RESULT_HEAD_LENGTH]!;
    if (last < number || last > this.requests.length)
      throw new Broken(`${idempotencyKey} was refused after ${last}, which was not sent`);
  }
}

function choose(
  random: Random,
  userId: number,
  idempotencyKey: string,
  { active, ended }: { active: number[]; ended: number[] },
  earlier: readonly Request[],
): KeyedCommand {
  const of = { userId, idempotencyKey };
  const what = random.whole(0, 19);
  if (what === 0) return { kind: 'stake', ...of, amountMicros: random.whole(1, 100) * 1_000_000 };
  if (what === 1) return { kind: 'unstake', ...of, depositId: random.whole(1, 10) };
  if (ended.length > 0 && what < 5) return { kind: 'claim', ...of, marketId: random.pick(ended) };
  const [marketId] = active;
  if (marketId === undefined) return { kind: 'claimYield', ...of, depositId: 1 };
  if (what < 8) {
    const orderId = orderOf(random, earlier);
    return { kind: 'cancel', ...of, marketId, orderId };
  }
  const order = {
    ...of,
    marketId,
    outcome: random.chance(0.5) ? Outcome.UP : Outcome.DOWN,
    priceTicks: random.whole(300, 700),
    timeInForce: random.pick([TimeInForce.IOC, TimeInForce.FOK, TimeInForce.GTC, TimeInForce.GTC]),
    postOnly: false,
    validUntilMs: MAX_TIME_MS,
  };
  const sizeLots = random.whole(1_000, 40_000);
  if (what < 11) return { kind: 'sell', ...order, sizeLots };
  const budgetMicros = sizeLots * order.priceTicks;
  const buy = { kind: 'buy', ...order, budgetMicros, sizeLots } as const;
  if (what < 18) return buy;
  const unkeyed = { ...buy, idempotencyKey: null };
  return { kind: 'batch', ...of, operations: [unkeyed, unkeyed], atomic: random.chance(0.5) };
}

/** The id of an earlier order of this client, or an id that does not exist. */
function orderOf(random: Random, earlier: readonly Request[]): number {
  const orders = earlier.filter(
    ({ command, reply }) =>
      (command.kind === 'buy' || command.kind === 'sell') && reply?.values[ResultHead.code] === 0,
  );
  return orders.length === 0 ? 1 : random.pick(orders).reply!.values[4]!;
}
